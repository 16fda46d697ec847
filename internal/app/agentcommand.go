package app

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
)

// printAgentLine prints the command that starts an agent on another machine, so that its daemon is managed.
func (a *App) printAgentLine() {
	socket := a.socket
	if a.forAgents != nil {
		socket = a.forAgents
	}
	// the second case: a port only for the demo's own agents
	if !socket.ServesAgents() || a.o.AgentListen == "" && a.forAgents != nil {
		return
	}
	line := "muster agent --server https://" + a.nameOf(socket.Addr())
	if fingerprint := socket.KeyFingerprint(); fingerprint != "" {
		line += " --fingerprint " + fingerprint
	}
	fmt.Fprintf(a.o.Out, "To manage the Syncthing of another machine, type there:\n    %s\n", line)
}

// nameOf returns the name under which other machines reach a socket. When the socket listens on all addresses it is
// the name of this machine.
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

// namesAt returns the names by which clients may address a socket: those in the options, and this machine's name when
// the socket listens on all addresses. The certificate and the printed command contain that name.
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
