package writer_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"muster/internal/core/stconfig"
	"muster/test/daemon"
)

// person edits a daemon's configuration, at its own API and in its GUI. What they want is remembered.
type person struct {
	t      *testing.T
	d      *daemon.Daemon
	r      *rand.Rand
	wanted map[string]edit // by key
	n      int             // the next value, larger than any minimum of the daemon
	done   int
}

// edit is what a person wanted at a key, and when they said so.
type edit struct {
	to         stconfig.Value
	start, end time.Time
}

func newPerson(t *testing.T, d *daemon.Daemon, r *rand.Rand) *person {
	return &person{t: t, d: d, r: r, wanted: map[string]edit{}, n: 1000}
}

// act does one thing.
func (p *person) act() {
	p.n++
	p.done++
	act := []func(){
		func() { p.patch("options", "options.maxRecvKbps", number(p.n)) },
		func() { p.patch("options", "options.reconnectionIntervalS", number(p.n)) },
		func() { p.patch("folders/managed", "folders.managed.label", text(p.n)) },
		func() { p.patch("folders/managed", "folders.managed.maxConflicts", number(p.n)) },
		func() { p.patch("folders/own", "folders.own.rescanIntervalS", number(p.n)) },
		func() { p.patch("devices/"+peerA, "devices."+peerA+".name", text(p.n)) },
		func() { p.patch("devices/"+peerC, "devices."+peerC+".maxSendKbps", number(p.n)) },
		func() { p.patch("defaults/folder", "defaults.folder.maxConflicts", number(p.n)) },
		p.share, p.addOrRemove, p.gui, p.gui, p.gui, p.drift,
	}
	act[p.r.IntN(len(act))]()
}

// acts does several things, at some of them after a moment.
func (p *person) acts(n int) {
	for range n {
		p.act()
		if p.r.IntN(2) == 0 {
			p.pause()
		}
	}
}

func number(n int) stconfig.Value { return stconfig.Literal(fmt.Sprint(n)) }
func text(n int) stconfig.Value   { return stconfig.Text(fmt.Sprint("mine ", n)) }

// want remembers what was done between start and now.
func (p *person) want(key string, to stconfig.Value, start time.Time) {
	p.wanted[key] = edit{to: to, start: start, end: time.Now()}
}

// patch sets one field by the narrow endpoint.
func (p *person) patch(path, key string, to stconfig.Value) {
	start := time.Now()
	name := key[strings.LastIndexByte(key, '.')+1:]
	p.d.Patch("/rest/config/"+path, fmt.Sprintf(`{%q: %s}`, name, to.JSON()))
	p.want(key, to, start)
}

// share adds peerB to the managed folder's list, or takes it out.
func (p *person) share() {
	start := time.Now()
	folder := parse(p.t, p.d.Get("/rest/config/folders/managed"))
	list, to := toggled(folder.Get("devices"), peerB)
	p.d.Patch("/rest/config/folders/managed", fmt.Sprintf(`{"devices": %s}`, list.JSON()))
	p.want("folders.managed.devices."+peerB, to, start)
}

// toggled is a share list with a peer, or without.
func toggled(list stconfig.Value, peer string) (_, entry stconfig.Value) {
	var kept []stconfig.Value
	for share := range list.Values() {
		if share.Get("deviceID").Str() != peer {
			kept = append(kept, share)
		}
	}
	if len(kept) == list.Len() {
		entry = stconfig.Obj(
			stconfig.Member{Name: "deviceID", Value: stconfig.Text(peer)},
			stconfig.Member{Name: "introducedBy", Value: stconfig.Text("")},
			stconfig.Member{Name: "encryptionPassword", Value: stconfig.Text("")})
		kept = append(kept, entry)
	}
	return stconfig.List(kept...), entry
}

// addOrRemove makes a folder of the person's own, or takes it away.
func (p *person) addOrRemove() {
	start := time.Now()
	id := fmt.Sprint("mine-", p.r.IntN(3))
	key := "folders." + id + ".path"
	if p.wanted[key].to.Exists() {
		p.d.Delete("/rest/config/folders/" + id)
		p.want(key, stconfig.Value{}, start)
		return
	}
	p.d.Put("/rest/config/folders", fmt.Sprintf(`[{"id": %q, "path": "~/%s", "paused": true}]`, id, id))
	p.want(key, stconfig.Text("~/"+id), start)
}

// gui edits as the daemon's own GUI does: read the whole document, think, save the whole document. Whatever Muster
// wrote meanwhile is undone by that; it is the person's edits that must not be undone by Muster.
func (p *person) gui() {
	doc := config(p.t, p.d)
	made := map[string]stconfig.Value{}
	for key, to := range map[string]stconfig.Value{
		"options.progressUpdateIntervalS": number(p.n),
		"options.maxRecvKbps":             number(p.n),
		"folders.own.label":               text(p.n),
		"folders.managed.label":           text(p.n),
		"devices." + peerA + ".name":      text(p.n),
	} {
		if p.r.IntN(3) == 0 {
			made[key] = to
			doc = stconfig.Replace(doc, keyOf(p.t, key), to)
		}
	}
	if p.r.IntN(2) == 0 {
		list, to := toggled(stconfig.Lookup(doc, keyOf(p.t, "folders.managed.devices")), peerB)
		doc = stconfig.Replace(doc, keyOf(p.t, "folders.managed.devices"), list)
		made["folders.managed.devices."+peerB] = to
	}
	p.pause()
	start := time.Now()
	p.d.Put("/rest/config", doc.JSON())
	for key := range made {
		p.want(key, made[key], start)
	}
	for key, e := range p.wanted {
		// they said so again; of what was lost before they know nothing
		if stconfig.Lookup(doc, keyOf(p.t, key)).Equal(e.to) {
			e.start, e.end = start, time.Now()
			p.wanted[key] = e
		}
	}
}

// drift writes over what Muster manages.
func (p *person) drift() {
	p.d.Patch("/rest/config/options", `{"maxSendKbps": 1}`)
}

// pause is a person's, so that they meet Muster at any moment of its work.
func (p *person) pause() {
	timer := time.NewTimer(time.Duration(p.r.IntN(40)) * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-p.t.Context().Done():
	}
}

// check says which edits are gone, and which of them were in a window that nobody can close.
func (p *person) check(muster *proxy) (lost []string, excused int) {
	windows := muster.windows()
	doc := config(p.t, p.d)
	for _, key := range slices.Sorted(maps.Keys(p.wanted)) {
		e := p.wanted[key]
		now := stconfig.Lookup(doc, keyOf(p.t, key))
		if now.Kind() == e.to.Kind() && now.Equal(e.to) {
			continue
		}
		if slices.ContainsFunc(windows, func(w window) bool {
			return e.start.Before(w.end) && w.start.Before(e.end) && within(key, w.place)
		}) {
			excused++
		} else {
			lost = append(lost, fmt.Sprintf("%s is %s, the person wanted %s; %s", key, shown(now), shown(e.to),
				muster.around(e)))
		}
		e.to = now
		p.wanted[key] = e
	}
	return lost, excused
}

// within tells whether a key is at a place where a write of Muster's was.
func within(key, place string) bool {
	if place == "" {
		return true
	}
	place, _ = url.PathUnescape(place)
	place = strings.ReplaceAll(place, "/", ".")
	return key == place || strings.HasPrefix(key, place+".")
}
