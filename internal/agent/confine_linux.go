package agent

import (
	"crypto/x509"
	"path/filepath"

	"github.com/landlock-lsm/go-landlock/landlock"
)

// systemDirs hold what looking up a name may need: the settings, and the modules of the C library.
var systemDirs = []string{"/etc", "/run/systemd/resolve", "/run/NetworkManager", "/run/resolvconf", "/run/nscd",
	"/mnt/wsl", "/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/share/zoneinfo", "/proc/self", "/proc/sys/net"}

// Confine lets this process read the daemon's home and what names and certificates need, write its own runtime
// directory, and open no other file any more. Kernels without Landlock do not confine. The process must be an agent's
// only: it cannot be undone.
func (a *Agent) Confine(runtimeDir string) error {
	_, _ = x509.SystemCertPool() // is read once, from many places
	read := append([]string{a.o.Home}, systemDirs...)
	if a.o.CA != "" {
		read = append(read, filepath.Dir(a.o.CA))
	}
	return landlock.V5.BestEffort().RestrictPaths(
		landlock.RODirs(read...).IgnoreIfMissing(),
		landlock.RWDirs(runtimeDir).IgnoreIfMissing(),
		landlock.RWFiles("/dev/null").IgnoreIfMissing(),
	)
}
