package stsim

import "net/http"

// System is the operating system of the machine that a daemon claims to run on.
type System string

const (
	Linux   System = "linux"
	Windows System = "windows"
	MacOS   System = "darwin"
)

// machine is what a system's paths look like.
type machine struct {
	separator string
	tilde     string
	home      string // home directory of the daemon
}

var machines = map[System]machine{
	Linux:   {"/", "/home/syncthing", "/home/syncthing/.local/state/syncthing"},
	Windows: {`\`, `C:\Users\syncthing`, `C:\Users\syncthing\AppData\Local\Syncthing`},
	MacOS:   {"/", "/Users/syncthing", "/Users/syncthing/Library/Application Support/Syncthing"},
}

func (d *Daemon) machine() machine { return machines[d.system] }

// paths is where the daemon keeps what it has (lib/locations of 2.1). Older ones do not say.
func (e *endpoint) paths(w http.ResponseWriter, r *http.Request, _ string) {
	if e.daemon.Version() == V1 {
		http.NotFound(w, r)
		return
	}
	m := e.daemon.machine()
	in := func(name string) string { return m.home + m.separator + name }
	e.sendJSON(w, r, map[string]string{
		"config": in("config.xml"), "certFile": in("cert.pem"), "keyFile": in("key.pem"),
		"httpsCertFile": in("https-cert.pem"), "httpsKeyFile": in("https-key.pem"), "database": in("index-v2"),
		"csrfTokens": in("csrftokens.txt"), "logFile": "-", "panicLog": in("panic-%{timestamp}.log"),
		"auditLog":  in("audit-%{timestamp}.log"),
		"guiAssets": in("gui"), "defFolder": m.tilde + m.separator + "Sync",
	})
}
