package app

import (
	"fmt"
	"net"
	"net/netip"
	"os"
)

// printAgentLine prints what to type on another machine, so that its daemon is managed.
func (a *App) printAgentLine() {
	socket := a.socket
	if a.forAgents != nil {
		socket = a.forAgents
	}
	if !socket.ServesAgents() || a.o.AgentListen == "" && a.forAgents != nil { // of the demo's own agents
		return
	}
	line := "muster agent --server https://" + a.nameOf(socket.Addr())
	if fingerprint := socket.KeyFingerprint(); fingerprint != "" {
		line += " --fingerprint " + fingerprint
	}
	fmt.Fprintf(a.o.Out, "To manage the Syncthing of another machine, type there:\n    %s\n", line)
}

// nameOf is how other machines call a socket: where it is on every address, by a name of this machine.
func (a *App) nameOf(at net.Addr) string {
	host, port, err := net.SplitHostPort(at.String())
	if err != nil {
		return at.String()
	}
	if ip, err := netip.ParseAddr(host); err == nil && ip.IsUnspecified() {
		if host, err = os.Hostname(); err != nil || host == "" {
			host = "localhost"
		}
		if len(a.o.AllowHosts) > 0 {
			host = a.o.AllowHosts[0]
		}
	}
	return net.JoinHostPort(host, port)
}
