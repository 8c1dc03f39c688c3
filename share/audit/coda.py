# SPDX-License-Identifier: Apache-2.0
# Stands behind each attack.
if not _said:
    print('held: nothing got through', flush=True)
