package app

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
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
	if onEveryAddress(at) {
		host = a.namesAt(at)[0]
	}
	return net.JoinHostPort(host, port)
}

// namesAt are those by which clients may address a socket: the names that were given, and this machine's own where the
// socket is on every address, for its certificate and the line for agents have that name.
func (a *App) namesAt(at net.Addr) []string {
	names := slices.Clone(a.o.AllowHosts)
	if !onEveryAddress(at) {
		return names
	}
	if own, err := os.Hostname(); err == nil && own != "" {
		return append(names, own)
	}
	return append(names, "localhost")
}

func onEveryAddress(at net.Addr) bool {
	addr, err := netip.ParseAddrPort(at.String())
	return err == nil && addr.Addr().IsUnspecified()
}
