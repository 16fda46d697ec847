package contract

import (
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// sealed marks the process that runs inside a network of its own.
const sealed = "CONTRACT_SEALED"

// TestMain runs the tests in a network namespace with nothing but a loopback interface: a real daemon whose options
// are reset to their defaults, as some checks do, would announce itself to the world.
func TestMain(m *testing.M) {
	if os.Getenv(sealed) != "" {
		if err := loopbackOnly(); err != nil {
			fmt.Fprintln(os.Stderr, "the network of the tests is not sealed:", err)
			os.Exit(1)
		}
		flag.Parse()
		_ = flag.Set("test.parallel", "24") // checks wait, they hardly work
		os.Exit(m.Run())
	}
	again := exec.Command("/proc/self/exe", os.Args[1:]...)
	again.Env = append(os.Environ(), sealed+"=1")
	again.Stdin, again.Stdout, again.Stderr = os.Stdin, os.Stdout, os.Stderr
	again.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
		Pdeathsig:   syscall.SIGKILL,
	}
	err := again.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		os.Exit(exit.ExitCode())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "these tests need user namespaces (sysctl user.max_user_namespaces, or a container that "+
			"allows them):", err)
		os.Exit(1)
	}
}

// loopbackOnly brings the loopback interface up and makes sure that there is no other that is.
func loopbackOnly() error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(s) }()
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, lo); err != nil {
		return fmt.Errorf("bring lo up: %w", err)
	}
	interfaces, err := net.Interfaces()
	if err != nil {
		return err
	}
	for _, i := range interfaces {
		if i.Flags&net.FlagUp != 0 && i.Flags&net.FlagLoopback == 0 {
			return fmt.Errorf("interface %s is up", i.Name)
		}
	}
	return nil
}
