package stsim

import (
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"time"

	"muster/internal/core/stconfig"
)

const mebibyte = 1 << 20

func (e *endpoint) ping(w http.ResponseWriter, r *http.Request, _ string) {
	e.sendJSON(w, r, map[string]string{"ping": "pong"})
}

func (e *endpoint) health(w http.ResponseWriter, r *http.Request, _ string) {
	e.sendJSON(w, r, map[string]string{"status": "OK"})
}

// logIn only says whether user and password are right; there are no sessions.
func (e *endpoint) logIn(w http.ResponseWriter, r *http.Request, _ string) {
	body, err := readJSON(r)
	switch {
	case err != nil:
		http.Error(w, "Failed to parse username and password.", http.StatusBadRequest)
	case !e.guarded():
		http.NotFound(w, r)
	case e.knows(body.Get("username").Str(), body.Get("password").Str()):
		w.WriteHeader(http.StatusNoContent)
	default:
		e.refuse(w, "Forbidden", http.StatusForbidden)
	}
}

// status has the numbers of a small daemon; they differ from daemon to daemon and move a little with time.
func (e *endpoint) status(w http.ResponseWriter, r *http.Request, _ string) {
	d := e.daemon
	up := max(time.Since(e.process.started), 0)
	options := d.Config().Get("options")
	says := map[string]any{
		"myID":       e.claimedID(r),
		"goroutines": 40 + d.number%40,
		"alloc":      (20+int64(d.number%30))*mebibyte + up.Milliseconds()%mebibyte,
		"sys":        (60 + int64(d.number%50)) * mebibyte,
		"tilde":      d.machine().tilde, "pathSeparator": d.machine().separator, "cpuPercent": 0, "urVersionMax": 3,
		"uptime": int64(up.Seconds()), "startTime": e.process.started.UTC().Format(time.RFC3339),
		"guiAddressOverridden": d.farm.options.Fixed, "guiAddressUsed": e.listener.Addr().String(),
		"connectionServiceStatus": listenerStatus(options), "lastDialStatus": map[string]any{},
	}
	local, global := options.Get("localAnnounceEnabled").IsTrue(), options.Get("globalAnnounceEnabled").IsTrue()
	if local || global {
		finders := map[string]any{}
		if global {
			for server := range options.Get("globalAnnounceServers").Values() {
				finders["global@"+server.Str()] = map[string]any{"error": nil}
			}
		}
		if local {
			finders["IPv4 local"], finders["IPv6 local"] = map[string]any{"error": nil}, map[string]any{"error": nil}
		}
		says["discoveryEnabled"], says["discoveryMethods"] = true, len(finders)
		says["discoveryStatus"], says["discoveryErrors"] = finders, map[string]any{}
	}
	e.sendJSON(w, r, says)
}

func listenerStatus(options stconfig.Value) map[string]any {
	status := map[string]any{}
	for address := range options.Get("listenAddresses").Values() {
		status[address.Str()] = map[string]any{"error": nil, "lanAddresses": []string{address.Str()},
			"wanAddresses": []string{address.Str()}}
	}
	return status
}

func (e *endpoint) versionInfo(w http.ResponseWriter, r *http.Request, _ string) {
	version, codename, built := "v2.1.3", "Hafnium Hornet", "2026-07-07T07:07:07Z"
	if e.daemon.Version() == V1 {
		version, codename, built = "v1.19.2", "Fermium Flea", "2022-05-03T08:30:00Z"
	}
	arch := []string{"amd64", "arm64", "arm"}[e.daemon.number%3]
	says := map[string]any{
		"version": version, "codename": codename, "os": e.daemon.system, "arch": arch, "date": built,
		"user": "simulator", "stamp": "0",
		"isBeta": false, "isCandidate": false, "isRelease": true, "tags": []string{},
		"longVersion": fmt.Sprintf("syncthing %s %q (simulated %s-%s) simulator %s", version, codename, e.daemon.system,
			arch, built),
	}
	if e.daemon.Version() == V2 {
		says["extra"], says["container"] = "", false
	}
	e.sendJSON(w, r, says)
}

func (e *endpoint) restart(w http.ResponseWriter, _ *http.Request, _ string) {
	flush(w, `{"ok": "restarting"}`)
	e.daemon.restartLater()
}

func (e *endpoint) shutdown(w http.ResponseWriter, _ *http.Request, _ string) {
	flush(w, `{"ok": "shutting down"}`)
	e.daemon.farm.later(e.daemon.Stop)
}

// flush sends a text before the daemon ends. Unlike every other answer it has no content type of its own.
func flush(w http.ResponseWriter, text string) {
	_, _ = fmt.Fprintln(w, text)
	_ = http.NewResponseController(w).Flush()
}

func (e *endpoint) connections(w http.ResponseWriter, r *http.Request, _ string) {
	d := e.daemon
	now := time.Now().Truncate(time.Second).Format(time.RFC3339)
	none := "0001-01-01T00:00:00Z"
	all := map[string]any{}
	for device := range d.Config().Get("devices").Values() {
		id := device.Get("deviceID").Str()
		if id == string(d.id) && d.Version() == V2 {
			continue
		}
		c := map[string]any{
			"at": none, "startedAt": none, "inBytesTotal": 0, "outBytesTotal": 0, "connected": false,
			"paused": device.Get("paused").IsTrue(), "address": "", "clientVersion": "", "type": "", "crypto": "",
		}
		if d.Version() == V2 {
			c["isLocal"], c["primary"], c["secondary"] = false, map[string]any{"at": none, "startedAt": none}, nil
		}
		if peer, since := d.linkTo(id); peer != nil {
			c["at"], c["startedAt"], c["connected"] = now, since.Format(time.RFC3339), true
			c["address"], c["clientVersion"] = peer.connectionAddress(), string(peer.Version())
			c["type"], c["crypto"] = "tcp-client", "TLS1.3-TLS_CHACHA20_POLY1305_SHA256"
			if d.Version() == V2 {
				c["isLocal"] = true
			}
		}
		all[id] = c
	}
	e.sendJSON(w, r, map[string]any{
		"connections": all, "total": map[string]any{"at": now, "inBytesTotal": 0, "outBytesTotal": 0},
	})
}

// connectionAddress is where others see the daemon.
func (d *Daemon) connectionAddress() string {
	if at := d.syncAddress(); at != "" {
		return at
	}
	return netip.AddrPortFrom(d.address, 22000).String()
}

// discovery is what local announcements would have told: the addresses of the connected peers.
func (e *endpoint) discovery(w http.ResponseWriter, r *http.Request, _ string) {
	d := e.daemon
	found := map[string]any{}
	doc := d.Config()
	if doc.Get("options").Get("localAnnounceEnabled").IsTrue() {
		for _, id := range idsOf(doc) {
			if peer, _ := d.linkTo(string(id)); peer != nil {
				found[string(id)] = map[string]any{"addresses": []string{"tcp://" + peer.connectionAddress()}}
			}
		}
	}
	e.sendJSON(w, r, found)
}

func (e *endpoint) getEvents(w http.ResponseWriter, r *http.Request, _ string) {
	e.poll(w, r, parseMask(query(r).Get("events")))
}

func (e *endpoint) getDiskEvents(w http.ResponseWriter, r *http.Request, _ string) {
	e.poll(w, r, diskEvents)
}

// poll answers with the events after since, waiting for the first. The headers go out at once.
func (e *endpoint) poll(w http.ResponseWriter, r *http.Request, m mask) {
	if m&(maskOf("FolderSummary")|maskOf("FolderCompletion")) != 0 {
		e.process.events.summariesWanted(time.Now())
	}
	since, _ := strconv.ParseInt(query(r).Get("since"), 10, 64)
	limit, _ := strconv.Atoi(query(r).Get("limit"))
	timeout := time.Minute
	if seconds, err := strconv.Atoi(query(r).Get("timeout")); err == nil && seconds >= 0 {
		timeout = time.Duration(seconds) * time.Second
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_ = http.NewResponseController(w).Flush()
	found := e.flood(r, since)
	if found == nil {
		found = e.process.events.since(r.Context(), m, since, timeout)
	}
	if e.daemon.faultsFor(r.URL.Path).Hang { // A daemon that stands still answers no request that waited, either.
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	}
	if 0 < limit && limit < len(found) {
		found = found[len(found)-limit:]
	}
	e.sendJSON(w, r, e.wireEvents(r, found))
}

func (e *endpoint) wireEvents(r *http.Request, found []numbered) stconfig.Value {
	backwards := e.daemon.faultsFor(r.URL.Path).Backwards
	wire := make([]stconfig.Value, len(found))
	for i, n := range found {
		if backwards {
			n.id = found[len(found)-1-i].id - int64(len(found))
		}
		wire[i] = stconfig.Obj(
			stconfig.Member{Name: "id", Value: number(n.id)}, stconfig.Member{Name: "globalID", Value: number(n.global)},
			stconfig.Member{Name: "time", Value: stconfig.Text(n.time.Format(time.RFC3339Nano))},
			stconfig.Member{Name: "type", Value: stconfig.Text(n.name)}, stconfig.Member{Name: "data", Value: n.data})
	}
	return stconfig.List(wire...)
}

// urlValue is a URL as encoding/json writes Go's url.URL.
func urlValue(address string) stconfig.Value {
	u, err := url.Parse(address)
	if err != nil {
		u = &url.URL{Opaque: address}
	}
	var members []stconfig.Member
	for _, part := range []struct{ name, text string }{
		{"Scheme", u.Scheme}, {"Opaque", u.Opaque}, {"Host", u.Host}, {"Path", u.Path}, {"RawQuery", u.RawQuery},
		{"Fragment", u.Fragment},
	} {
		members = append(members, stconfig.Member{Name: part.name, Value: stconfig.Text(part.text)})
	}
	return stconfig.Obj(members...)
}
