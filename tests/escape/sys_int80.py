# SPDX-License-Identifier: Apache-2.0
# expect: ok
# class: kernel
# walls: seccomp
# unwalled: safe
# stdout: int 0x80: -31
"""The 32-bit door of the kernel: other numbers, other argument rules."""
import mmap

code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
# push rbx; mov eax, 20 (getpid); int 0x80; pop rbx; ret
code.write(b"\x53\xb8\x14\x00\x00\x00\xcd\x80\x5b\xc3")
function = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))
status = in_child(lambda: function() > 0)
print("int 0x80:", status)
if status != -signal.SIGSYS:
    breach(f"a 32-bit call survived: {status}")
