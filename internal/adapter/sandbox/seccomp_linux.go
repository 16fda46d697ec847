//go:build linux && (amd64 || arm64)

package sandbox

import (
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// auditArchitectures are the numbers by which the kernel tells a filter the calling convention.
var auditArchitectures = map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}

// permission lets a system call through. Where it has conditions all must be met.
type permission struct {
	number     int
	conditions []condition
}

// condition is met by a call whose argument, masked, has the value. Of an argument the lower half is compared: no
// argument that is compared here has more.
type condition struct {
	argument   int
	mask, want uint32
}

const wholeWord = ^uint32(0)

// permissions are what the Go runtime needs to run programs that were started already, and to read and write the
// pipes. It is a list of what is allowed: whatever the kernel has beside it, now and later, is refused. Frequent calls
// come first.
func permissions(pid int) []permission {
	free := func(numbers ...int) (all []permission) {
		for _, n := range numbers {
			all = append(all, permission{number: n})
		}
		return all
	}
	notExecutable := condition{2, unix.PROT_EXEC, 0}
	return append(
		free(
			unix.SYS_FUTEX, unix.SYS_READ, unix.SYS_WRITE, unix.SYS_EPOLL_PWAIT, unix.SYS_NANOSLEEP, unix.SYS_MADVISE,
			unix.SYS_SCHED_YIELD, unix.SYS_GETPID, unix.SYS_GETTID, unix.SYS_MUNMAP, unix.SYS_CLOCK_GETTIME,
			unix.SYS_RT_SIGRETURN, unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGACTION, unix.SYS_SIGALTSTACK, unix.SYS_CLOSE,
			unix.SYS_EPOLL_CREATE1, unix.SYS_EPOLL_CTL, unix.SYS_EVENTFD2, unix.SYS_MINCORE, unix.SYS_BRK,
			unix.SYS_CLOCK_NANOSLEEP, unix.SYS_RESTART_SYSCALL, unix.SYS_GETRANDOM, unix.SYS_SCHED_GETAFFINITY,
			unix.SYS_SET_ROBUST_LIST, unix.SYS_RSEQ, unix.SYS_EXIT, unix.SYS_EXIT_GROUP,
		),
		// Memory is never shared with other processes and never holds new machine code.
		permission{unix.SYS_MMAP, []condition{notExecutable, {3, unix.MAP_TYPE, unix.MAP_PRIVATE}}},
		permission{unix.SYS_MPROTECT, []condition{notExecutable}},
		// Threads, no processes.
		permission{unix.SYS_CLONE, []condition{{0, unix.CLONE_THREAD, unix.CLONE_THREAD}}},
		// Signals to threads of this process: Go preempts goroutines by them.
		permission{unix.SYS_TGKILL, []condition{{0, wholeWord, uint32(pid)}}},
		permission{unix.SYS_FCNTL, []condition{{1, wholeWord, unix.F_GETFL}}},
		permission{unix.SYS_PRCTL, []condition{{0, wholeWord, unix.PR_SET_VMA}}}, // names of memory, for debuggers
	)
}

// absent are calls that older kernels do not have: who uses them goes on with an older call when told so.
var absent = []int{unix.SYS_CLONE3, unix.SYS_OPENAT2, unix.SYS_EPOLL_PWAIT2, unix.SYS_FACCESSAT2}

// Offsets in what the kernel shows a filter, struct seccomp_data. Both architectures store the lower half first.
const (
	offsetNumber       = 0
	offsetArchitecture = 4
	offsetArguments    = 16
)

// systemCallFilter is the program that the kernel runs for every system call. The calling conventions of 32 bits end
// the process; the one of x32 has numbers of its own, which are in no list and refused.
func systemCallFilter(architecture uint32, pid int) []unix.SockFilter {
	load := func(offset int) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: uint32(offset)}
	}
	skipUnless := func(value uint32, skipped int) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: value, Jf: uint8(skipped)}
	}
	end := func(action uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: action}
	}
	refuse := func(errno unix.Errno) unix.SockFilter { return end(unix.SECCOMP_RET_ERRNO | uint32(errno)) }

	program := []unix.SockFilter{
		load(offsetArchitecture),
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: architecture, Jt: 1},
		end(unix.SECCOMP_RET_KILL_PROCESS),
		load(offsetNumber),
	}
	for _, p := range permissions(pid) {
		var body []unix.SockFilter
		for _, c := range p.conditions {
			body = append(body, load(offsetArguments+8*c.argument),
				unix.SockFilter{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: c.mask},
				unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: c.want, Jt: 1},
				refuse(unix.EPERM))
		}
		body = append(body, end(unix.SECCOMP_RET_ALLOW))
		program = append(append(program, skipUnless(uint32(p.number), len(body))), body...)
	}
	for _, number := range absent {
		program = append(program, skipUnless(uint32(number), 1), refuse(unix.ENOSYS))
	}
	return append(program, refuse(unix.EPERM))
}

// filterSystemCalls puts the filter on all threads of this process. No_new_privs must be set.
func filterSystemCalls() error {
	program := systemCallFilter(auditArchitectures[runtime.GOARCH], os.Getpid())
	header := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	thread, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&header)))
	runtime.KeepAlive(program)
	switch {
	case errno != 0:
		return fmt.Errorf("install a filter of system calls: %w", errno)
	case thread != 0:
		return fmt.Errorf("install a filter of system calls: thread %d has another", thread)
	}
	return nil
}
