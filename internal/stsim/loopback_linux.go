package stsim

import (
	"context"
	"net"
	"strconv"
	"syscall"
)

// listenLoopback takes every address of the loopback interface, and nothing from any other.
func listenLoopback(port int) (net.Listener, error) {
	config := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) error {
		var err error
		if control := raw.Control(func(fd uintptr) { err = syscall.BindToDevice(int(fd), "lo") }); control != nil {
			return control
		}
		return err
	}}
	return config.Listen(context.Background(), "tcp4", ":"+strconv.Itoa(port))
}
