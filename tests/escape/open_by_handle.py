# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: files
# walls: seccomp caps
# unwalled: safe
"""Names files by handle, which knows no roots (the Shocker attack)."""
handle = ctypes.create_string_buffer(struct.pack("Ii", 128, 0) + bytes(128))
mount_id = ctypes.c_int()
refused("name_to_handle_at", -100, b"/", handle, ctypes.addressof(mount_id), 0)
root = struct.pack("IiQ", 8, 1, 2)
refused("open_by_handle_at", os.open("/", os.O_RDONLY), ctypes.create_string_buffer(root), 0)
