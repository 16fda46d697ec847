package app

import (
	"context"
	"fmt"
	"path/filepath"

	"muster/internal/adapter/seal"
	"muster/internal/edge/auth"
	"muster/internal/fleet"
	"muster/internal/logkey"
)

// newPeople makes the part that authenticates users. Its key is in the database, so every server of the same database
// recognises the browsers in which users have logged in.
func (a *App) newPeople(ctx context.Context) (*auth.People, error) {
	deviceKey, err := a.store.OwnKey(ctx, "device cookies")
	if err != nil {
		return nil, fmt.Errorf("read the key of device cookies: %w", err)
	}
	home, err := filepath.Abs(a.o.Home)
	if err != nil {
		return nil, fmt.Errorf("find the home folder: %w", err)
	}
	return auth.NewPeople(auth.PeopleOptions{
		Store: a.store, Log: a.log, DeviceKey: deviceKey, Times: a.sessionTimes,
		Issuer:   a.issuer(),
		LinkFile: filepath.Join(home, fleet.LoginLinkFile),
	}), nil
}

// offerFirstLink makes a log-in link while no administrator can log in with a password. The link is in a file of the
// home, and only the path of the file is printed. A journal keeps what a server prints: somebody who can damage the
// rows of the administrators, and read the journal, would become an administrator by a printed link. The link itself is
// printed only to the terminal of a person, and only by the first start, which no database can pretend.
func (a *App) offerFirstLink(ctx context.Context) {
	code, err := a.people.FirstLink(ctx)
	if err != nil {
		a.log.Warn("no log-in link could be made", logkey.Err(err), logkey.Next, "muster login-link")
		return
	}
	if code == "" {
		return
	}
	links := []string{a.socket.URL + auth.LoginPath + code}
	if name := a.nameOf(a.socket.Addr()); a.socket.ServesAgents() && !auth.LoopbackHost(name) {
		links = append(links, "https://"+name+auth.LoginPath+code)
	}
	if err := a.people.WriteLinkFile(links); err != nil {
		a.log.Warn("the log-in link could not be written into the home folder", logkey.Err(err), logkey.Next,
			a.linkCommand())
		return
	}
	a.life.background("log-in link", a.people.KeepLinkFile, a.fail)
	if a.firstStart && a.o.Watched {
		fmt.Fprintln(a.o.Out, "To make the first administrator, open this within 15 minutes, once:")
		fmt.Fprintln(a.o.Out, links[0])
		if len(links) > 1 {
			fmt.Fprintln(a.o.Out, "In the browser of another machine it is "+links[1])
		}
		return
	}
	fmt.Fprintln(a.o.Out, "No administrator can log in with a password. To make one, open the link in this file "+
		"within 15 minutes, once:")
	fmt.Fprintln(a.o.Out, a.people.LinkFile)
	fmt.Fprintln(a.o.Out, "Another link is printed by: "+a.linkCommand())
}

// linkCommand is the command that prints a log-in link on this machine.
func (a *App) linkCommand() string {
	address := a.socket.URL
	if a.o.TLSCert != "" {
		address = "https://" + a.nameOf(a.socket.Addr())
	}
	return "muster login-link --server " + address + " --muster-home " + seal.Quoted(filepath.Dir(a.people.LinkFile))
}
