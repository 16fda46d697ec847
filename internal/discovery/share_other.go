//go:build !unix

package discovery

import "syscall"

// shareAddress does nothing: the port of announcements belongs to whoever came first.
func shareAddress(_, _ string, _ syscall.RawConn) error { return nil }
