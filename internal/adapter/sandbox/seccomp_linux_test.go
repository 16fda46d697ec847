//go:build linux && (amd64 || arm64)

package sandbox

import (
	"encoding/binary"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// verdict runs a filter on a call, as the kernel does.
func verdict(t *testing.T, program []unix.SockFilter, architecture, number uint32, arguments ...uint64) uint32 {
	t.Helper()
	data := make([]byte, offsetArguments+8*6)
	binary.LittleEndian.PutUint32(data[offsetNumber:], number)
	binary.LittleEndian.PutUint32(data[offsetArchitecture:], architecture)
	for i, a := range arguments {
		binary.LittleEndian.PutUint64(data[offsetArguments+8*i:], a)
	}
	var a uint32
	for at := 0; at < len(program); at++ {
		switch i := program[at]; i.Code {
		case unix.BPF_LD | unix.BPF_W | unix.BPF_ABS:
			a = binary.LittleEndian.Uint32(data[i.K:])
		case unix.BPF_ALU | unix.BPF_AND | unix.BPF_K:
			a &= i.K
		case unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K:
			if a == i.K {
				at += int(i.Jt)
			} else {
				at += int(i.Jf)
			}
		case unix.BPF_RET | unix.BPF_K:
			return i.K
		default:
			t.Fatalf("unknown instruction %+v", i)
		}
	}
	t.Fatal("the program has no end")
	return 0
}

// The filter lets through what is listed, on the conventions of this architecture alone.
func TestSystemCallFilter(t *testing.T) {
	const pid = 4711
	own, permitted := auditArchitectures[runtime.GOARCH], uint32(unix.SECCOMP_RET_ALLOW)
	refused := uint32(unix.SECCOMP_RET_ERRNO | unix.EPERM)
	program := systemCallFilter(own, pid)
	if len(program) > 4096 {
		t.Errorf("%d instructions", len(program))
	}
	anonymous := uint64(unix.MAP_ANON | unix.MAP_PRIVATE)
	for _, c := range []struct {
		name         string
		architecture uint32
		number       uint32
		arguments    []uint64
		want         uint32
	}{
		{"read", own, unix.SYS_READ, nil, permitted},
		{"exit", own, unix.SYS_EXIT_GROUP, nil, permitted},
		{"read by the 32 bit convention", unix.AUDIT_ARCH_I386, unix.SYS_READ, nil, unix.SECCOMP_RET_KILL_PROCESS},
		{"read by another architecture", unix.AUDIT_ARCH_ARM, unix.SYS_READ, nil, unix.SECCOMP_RET_KILL_PROCESS},
		{"read by x32", own, 0x40000000 | unix.SYS_READ, nil, refused},
		{"open", own, unix.SYS_OPENAT, nil, refused},
		{"clone3", own, unix.SYS_CLONE3, nil, unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)},
		{"memory", own, unix.SYS_MMAP, []uint64{0, 4096, unix.PROT_READ | unix.PROT_WRITE, anonymous}, permitted},
		{"executable memory", own, unix.SYS_MMAP, []uint64{0, 4096, unix.PROT_EXEC, anonymous}, refused},
		{"shared memory", own, unix.SYS_MMAP, []uint64{0, 4096, unix.PROT_READ, unix.MAP_ANON | unix.MAP_SHARED}, refused},
		{"shared memory, validated", own, unix.SYS_MMAP, []uint64{0, 4096, unix.PROT_READ,
			unix.MAP_ANON | unix.MAP_SHARED_VALIDATE}, refused},
		{"protect", own, unix.SYS_MPROTECT, []uint64{0, 4096, unix.PROT_NONE}, permitted},
		{"make executable", own, unix.SYS_MPROTECT, []uint64{0, 4096, unix.PROT_READ | unix.PROT_EXEC}, refused},
		{"thread", own, unix.SYS_CLONE, []uint64{unix.CLONE_VM | unix.CLONE_THREAD}, permitted},
		{"process", own, unix.SYS_CLONE, []uint64{unix.CLONE_VM}, refused},
		{"signal to itself", own, unix.SYS_TGKILL, []uint64{pid, 1, 23}, permitted},
		{"signal to another", own, unix.SYS_TGKILL, []uint64{pid + 1, 1, 23}, refused},
		{"flags of a descriptor", own, unix.SYS_FCNTL, []uint64{0, unix.F_GETFL}, permitted},
		{"owner of a descriptor", own, unix.SYS_FCNTL, []uint64{0, unix.F_SETOWN, 1}, refused},
	} {
		if got := verdict(t, program, c.architecture, c.number, c.arguments...); got != c.want {
			t.Errorf("%s: got %#x, want %#x", c.name, got, c.want)
		}
	}
}
