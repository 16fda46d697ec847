//go:build !unix

package discovery

import "syscall"

// shareAddress does nothing: the port of announcements belongs to the first program that took it.
func shareAddress(_, _ string, _ syscall.RawConn) error { return nil }
