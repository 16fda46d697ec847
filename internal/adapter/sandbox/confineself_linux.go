package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"unsafe"

	"github.com/landlock-lsm/go-landlock/landlock"
	landlocksys "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
	"kernel.org/pub/linux/libs/security/libcap/psx"
)

// This file is the worker's part of the confinement.

const (
	workerNice     = 2  // programs wait for the server rather than the server for programs
	maxDescriptors = 16 // the pipes and what the Go runtime opens for itself

	// addressSlack is the address space beyond the memory limit that a worker may reserve: Go reserves more than it uses.
	addressSlack = 1 << 30
)

// confineSelf takes from this process, for good, everything that it does not need to turn text into values. What the
// system does not offer is left out and said: the worker of an old kernel is still bounded in memory and time.
func confineSelf(ready usage) Confinement {
	yieldToServer()
	c := Confinement{ClosedDescriptors: whyDescriptorsOpen()}
	c[ResourceLimits] = reason(limitResources(ready))
	c[NotDumpable] = reason(unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0))
	c[NoNewPrivileges] = reason(landlocksys.AllThreadsPrctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
	c[NoCapabilities] = reason(dropCapabilities())
	c[Landlock] = reason(denyFiles())
	c[SystemCallFilter] = reason(filterSystemCalls()) // last: it refuses what the others need
	return c
}

func reason(err error) string {
	if err != nil {
		return err.Error()
	}
	return ""
}

// yieldToServer is best effort and no boundary: should the machine run out of memory, a worker goes first.
func yieldToServer() {
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0)
	threads, _ := os.ReadDir("/proc/self/task")
	for _, thread := range threads {
		if id, err := strconv.Atoi(thread.Name()); err == nil {
			_ = unix.Setpriority(unix.PRIO_PROCESS, id, workerNice) // later threads inherit it
		}
	}
}

// whyDescriptorsOpen is empty when nothing is open but the pipes and what the Go runtime needs: its event poll, and
// the files of the cgroup that limits the process.
func whyDescriptorsOpen() string {
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err.Error()
	}
	for _, entry := range open {
		fd, err := strconv.Atoi(entry.Name())
		if err != nil || fd <= 2 {
			continue
		}
		target, err := os.Readlink(filepath.Join("/proc/self/fd", entry.Name()))
		isRuntime := target == "anon_inode:[eventpoll]" || target == "anon_inode:[eventfd]" ||
			strings.HasPrefix(target, "/sys/fs/cgroup/")
		if err == nil && !isRuntime {
			return fmt.Sprintf("descriptor %d is open", fd)
		}
	}
	return ""
}

// limitResources sets limits that nothing lifts again. Of those on memory RLIMIT_DATA suits a Go program: it counts
// what is mapped private and writable (since Linux 4.7), which Go's heap is as soon as it grows and its reserved
// address space is not. RLIMIT_AS, which counts both, is far above and catches other mappings.
func limitResources(ready usage) error {
	memory, err := strconv.ParseUint(os.Getenv(memoryVariable), 10, 63)
	if err != nil {
		return fmt.Errorf("limit memory: the server names no limit: %w", err)
	}
	for _, limit := range []struct {
		resource int
		most     uint64
		name     string
	}{
		{unix.RLIMIT_CORE, 0, "core dumps"}, {unix.RLIMIT_FSIZE, 0, "sizes of files"},
		{unix.RLIMIT_MEMLOCK, 0, "locked memory"},
		{unix.RLIMIT_NOFILE, maxDescriptors, "descriptors"}, {unix.RLIMIT_CPU, processorTime, "processor time"},
		{unix.RLIMIT_DATA, uint64(ready.Data) + memory, "memory"},
		{unix.RLIMIT_AS, uint64(ready.AddressSpace) + memory + addressSlack, "address space"},
	} {
		if err := unix.Setrlimit(limit.resource, &unix.Rlimit{Cur: limit.most, Max: limit.most}); err != nil {
			return fmt.Errorf("limit %s: %w", limit.name, err)
		}
	}
	return nil
}

// dropCapabilities gives up what a worker of root has when it could not become another user.
func dropCapabilities() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	_, _, errno := psx.Syscall3(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&none[0])), 0)
	runtime.KeepAlive(&header)
	runtime.KeepAlive(&none)
	if errno != 0 {
		return fmt.Errorf("drop capabilities: %w", errno)
	}
	return nil
}

// denyFiles puts this process in a Landlock domain that may do nothing of what the kernel can deny.
func denyFiles() error {
	if version, err := landlocksys.LandlockGetABIVersion(); err != nil || version < 1 {
		return fmt.Errorf("the kernel has no Landlock, or it is not switched on")
	}
	return landlock.V11.BestEffort().Restrict()
}
