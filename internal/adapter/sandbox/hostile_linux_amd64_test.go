package sandbox

import "golang.org/x/sys/unix"

// nativeAttempts are those that this architecture alone has: old calls, and the numbers of the x32 convention.
func nativeAttempts(file string, at uintptr) []attempt {
	path := text(file)
	const x32 = 0x40000000
	return []attempt{
		{"open", unix.SYS_OPEN, [6]uintptr{path, unix.O_RDONLY}},
		{"creat", unix.SYS_CREAT, [6]uintptr{path, 0o600}},
		{"old unlink", unix.SYS_UNLINK, [6]uintptr{path}},
		{"old chmod", unix.SYS_CHMOD, [6]uintptr{path, 0o777}},
		{"old fork", unix.SYS_FORK, [6]uintptr{}},
		{"arch_prctl", unix.SYS_ARCH_PRCTL, [6]uintptr{0x1012, 0}},
		{"modify_ldt", unix.SYS_MODIFY_LDT, [6]uintptr{1, at, 16}},
		{"ioperm", unix.SYS_IOPERM, [6]uintptr{0, 1, 1}},
		{"x32 socket", x32 + unix.SYS_SOCKET, [6]uintptr{unix.AF_INET, unix.SOCK_STREAM}},
		{"x32 open", x32 + unix.SYS_OPEN, [6]uintptr{path, unix.O_RDONLY}},
		{"x32 write", x32 + unix.SYS_WRITE, [6]uintptr{1, at, 0}},
	}
}
