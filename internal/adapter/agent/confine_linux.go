package agent

import (
	"crypto/x509"
	"path/filepath"

	"github.com/landlock-lsm/go-landlock/landlock"
)

// systemDirs are the folders that the lookup of a name may read: settings, and modules of the C library.
var systemDirs = []string{"/etc", "/run/systemd/resolve", "/run/NetworkManager", "/run/resolvconf", "/run/nscd",
	"/mnt/wsl", "/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/share/zoneinfo", "/proc/self", "/proc/sys/net"}

// Confine limits the files that this process can open, with Landlock. Afterwards it can read the daemon's home
// directory and the system's settings for names and certificates, and write its own runtime directory. Kernels without
// Landlock do not limit anything. Confine cannot be undone, so the process must do nothing else than run the agent.
func (a *Agent) Confine(runtimeDir string) error {
	_, _ = x509.SystemCertPool() // Go reads the certificates once, from files that are not readable afterwards.
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
