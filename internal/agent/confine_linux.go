package agent

import (
	"crypto/x509"
	"path/filepath"

	"github.com/landlock-lsm/go-landlock/landlock"
)

// Confine lets this process read the daemon's home and what names and certificates need, write its own runtime
// directory, and open no other file any more. Kernels without Landlock do not confine. The process must be an agent's
// only: it cannot be undone.
func (a *Agent) Confine(runtimeDir string) error {
	_, _ = x509.SystemCertPool() // is read once, from many places
	read := []string{a.o.Home, "/etc", "/run/systemd/resolve", "/usr/share/zoneinfo", "/proc/self", "/proc/sys/net"}
	if a.o.CA != "" {
		read = append(read, filepath.Dir(a.o.CA))
	}
	return landlock.V5.BestEffort().RestrictPaths(
		landlock.RODirs(read...).IgnoreIfMissing(),
		landlock.RWDirs(runtimeDir).IgnoreIfMissing(),
		landlock.RWFiles("/dev/null").IgnoreIfMissing(),
	)
}
