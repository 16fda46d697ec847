//go:build !unix

package discovery

import "syscall"

// shareAddress does nothing: on this system the port of announcements belongs to the first program that opened it.
func shareAddress(_, _ string, _ syscall.RawConn) error { return nil }
