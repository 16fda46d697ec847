//go:build !linux

package stsim

import (
	"errors"
	"net"
)

// listenLoopback needs Linux: elsewhere only 127.0.0.1 answers, or a socket for all addresses would be open to the
// network.
func listenLoopback(int) (net.Listener, error) {
	return nil, errors.New("one socket for all daemons needs Linux")
}
