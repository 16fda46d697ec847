package sandbox

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

const workerNice = 2 // programs wait for the server rather than the server for programs

// dieWithParent makes the kernel end the worker when the thread that starts it ends: the thread of Run.
func dieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}

// widen makes room in a pipe for whole results, so that worker and server wait for each other less. Best effort.
func widen(pipe *os.File) {
	const most = 1 << 20 // that everybody may have
	if raw, err := pipe.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, most) })
	}
}

// confine puts the limits of the kernel on a worker. Of the limits on memory RLIMIT_DATA suits a Go program: it counts
// what is mapped private and writable (since Linux 4.7), which Go's heap is as soon as it grows and its reserved address
// space is not; RLIMIT_AS counts both. It is a soft limit, which programs in the worker have no means to lift and the
// server has, when the fleet grows.
func confine(pid int, memory int64) (limit int64, err error) {
	used, _, err := memoryOf(pid)
	if err != nil {
		return 0, err
	}
	if err := limitMemory(pid, used+memory); err != nil {
		return 0, err
	}
	if err := unix.Prlimit(pid, unix.RLIMIT_CORE, &unix.Rlimit{}, nil); err != nil {
		return 0, fmt.Errorf("forbid core dumps: %w", err)
	}
	// Should the machine run out of memory, a worker goes first. Best effort, as the next: neither is a boundary.
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/oom_score_adj", pid), []byte("1000"), 0)
	threads, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	for _, thread := range threads {
		if id, err := strconv.Atoi(thread.Name()); err == nil {
			_ = unix.Setpriority(unix.PRIO_PROCESS, id, workerNice) // later threads inherit it
		}
	}
	return used + memory, nil
}

func limitMemory(pid int, bytes int64) error {
	if err := unix.Prlimit(pid, unix.RLIMIT_DATA, &unix.Rlimit{Cur: uint64(bytes), Max: unix.RLIM_INFINITY}, nil); err != nil {
		return fmt.Errorf("limit the memory of a worker: %w", err)
	}
	return nil
}

// memoryOf is what a process has mapped private and writable, which RLIMIT_DATA limits, and what of it is resident.
func memoryOf(pid int) (data, resident int64, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0, 0, fmt.Errorf("read the memory of a worker: %w", err)
	}
	fields := bytes.Fields(text) // pages: size, resident, shared, text, lib, data + stack, dirty
	if len(fields) < 6 {
		return 0, 0, fmt.Errorf("read the memory of a worker: %d fields", len(fields))
	}
	pages := func(i int) int64 {
		n, _ := strconv.ParseInt(string(fields[i]), 10, 64)
		return n * int64(os.Getpagesize())
	}
	return pages(5), pages(1), nil
}
