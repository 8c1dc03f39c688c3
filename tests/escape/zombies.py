# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: dos
# limits: pids=32
# unwalled: never
# stdout: stopped by EAGAIN
"""Dead children that nobody buries count as well; orphans are buried by init."""
count = 0
try:
    while count < 500:
        if os.fork() == 0:
            os._exit(0)
        count += 1
    breach(f"{count} zombies with a limit of 32")
except OSError as error:
    print(f"stopped by {name_of(error.errno)}")
while True:
    try:
        os.wait()
    except ChildProcessError:
        break
# Each is an orphan at once: were they kept, the limit would not hold so many.
for number in range(200):
    pid = os.fork()
    if pid == 0:
        if os.fork() == 0:
            os._exit(0)
        os._exit(0)
    os.waitpid(pid, 0)
print("orphans are gone")
