package sandbox

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// This file is the server's part of the confinement: how a worker is started, and what it has open.

const nobody = 65534 // the user and group that owns nothing, by custom

// isolation is a way to start a worker.
type isolation struct {
	user    bool // The worker runs as another user than the server.
	network bool // The worker has an empty network namespace.
}

// start starts a command as isolated as the system allows. reasons tells for each measure that the system refuses why
// it does.
func start(make func() *exec.Cmd) (cmd *exec.Cmd, reasons Confinement, err error) {
	reasons = Confinement{NetworkNamespace: "", OtherUser: whyNoOtherUser()}
	mayChange := reasons[OtherUser] == ""
	var failures []error
	for _, way := range []isolation{{true, true}, {true, false}, {false, true}, {false, false}} {
		if way.user && !mayChange {
			continue
		}
		cmd = make()
		way.prepare(cmd)
		if err = cmd.Start(); err != nil {
			failures = append(failures, err)
			continue
		}
		if len(failures) > 0 && !way.network {
			reasons[NetworkNamespace] = failures[0].Error()
		}
		if mayChange && !way.user {
			reasons[OtherUser] = failures[0].Error()
		}
		return cmd, reasons, nil
	}
	return nil, nil, err
}

// prepare sets how the command is started. The kernel ends the worker when the thread that started it ends, so that
// thread is the one of Run.
func (way isolation) prepare(cmd *exec.Cmd) {
	attributes := &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	user, group := os.Geteuid(), os.Getegid()
	if way.user {
		user, group = nobody, nobody
		attributes.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
	}
	if way.network {
		attributes.Cloneflags = unix.CLONE_NEWNET
		if os.Geteuid() != 0 { // who is not root may have a network namespace inside a user namespace only
			attributes.Cloneflags |= unix.CLONE_NEWUSER
			attributes.UidMappings = []syscall.SysProcIDMap{{ContainerID: nobody, HostID: user, Size: 1}}
			attributes.GidMappings = []syscall.SysProcIDMap{{ContainerID: nobody, HostID: group, Size: 1}}
		}
	}
	cmd.SysProcAttr = attributes
	cmd.Dir = "/" // not the server's, which the other user might be unable to enter
	if executable, err := os.Executable(); err == nil && isSameFile(executable, cmd.Path) {
		// The link leads to this very program, also where its folder is closed to the other user, or an upgrade has
		// replaced it.
		cmd.Path = "/proc/self/exe"
	} else if absolute, err := filepath.Abs(cmd.Path); err == nil {
		cmd.Path = absolute
	}
}

func isSameFile(a, b string) bool {
	first, err := os.Stat(a)
	if err != nil {
		return a == b
	}
	second, err := os.Stat(b)
	return err == nil && os.SameFile(first, second)
}

// whyNoOtherUser tells why a worker cannot run as another user, "" where it can: the server must be able to become
// that user, and to end a process of that user.
func whyNoOtherUser() string {
	if os.Geteuid() != 0 {
		return "the server is not root: the workers run as its user"
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return fmt.Sprintf("read capabilities: %v", err)
	}
	for _, need := range []struct {
		capability int
		name       string
	}{{unix.CAP_SETUID, "CAP_SETUID"}, {unix.CAP_SETGID, "CAP_SETGID"}, {unix.CAP_KILL, "CAP_KILL"}} {
		if data[need.capability/32].Effective&(1<<(need.capability%32)) == 0 {
			return "the server is root without " + need.name + ": run it as an ordinary user"
		}
	}
	return ""
}

// keepDescriptors keeps workers from inheriting descriptors that the server inherited from the process that started
// it. Go closes its own descriptors in a child, and does not know these.
func keepDescriptors() {
	const first = 3
	if unix.CloseRange(first, ^uint(0), unix.CLOSE_RANGE_CLOEXEC) == nil {
		return
	}
	open, _ := os.ReadDir("/proc/self/fd") // Linux before 5.11
	for _, entry := range open {
		var fd int
		if _, err := fmt.Sscan(entry.Name(), &fd); err == nil && fd >= first {
			unix.CloseOnExec(fd)
		}
	}
}

// widen makes room in a pipe for whole results, so that worker and server wait for each other less. Best effort.
func widen(pipe *os.File) {
	const most = 1 << 20 // bytes: what an ordinary user may ask for
	if raw, err := pipe.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, most) })
	}
}

// memoryOf returns how much memory a process has mapped, and how much of it is resident. A pid of 0 is this process.
func memoryOf(pid int) (usage, error) {
	file := "/proc/self/statm"
	if pid != 0 {
		file = fmt.Sprintf("/proc/%d/statm", pid)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return usage{}, fmt.Errorf("read the memory of a worker: %w", err)
	}
	fields := bytes.Fields(text) // pages: size, resident, shared, text, lib, data + stack, dirty
	var pages [6]int64
	if len(fields) < len(pages) {
		return usage{}, fmt.Errorf("read the memory of a worker: %d fields", len(fields))
	}
	for i := range pages {
		if _, err := fmt.Sscan(string(fields[i]), &pages[i]); err != nil {
			return usage{}, fmt.Errorf("read the memory of a worker: %w", err)
		}
	}
	page := int64(os.Getpagesize())
	return usage{AddressSpace: pages[0] * page, Resident: pages[1] * page, Data: pages[5] * page}, nil
}
