package syncthing

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"muster/internal/fleet"
)

const (
	// Answers 200 without an API key since 1.20. Older daemons refuse it, but their answer has the device ID in its
	// header.
	probePath  = "/rest/noauth/health"
	statusPath = "/rest/system/status"

	connectionsPath = "/rest/system/connections"
)

// call is one request and the limits of its answer. Calls and limits are passed by pointer because thousands of long
// polls wait at the same time, and the goroutine of each keeps the frames of all functions above it. They and what a
// poll needs besides must fit into a stack of 8 KiB.
type call struct {
	method   string
	path     string // path and query, escaped
	body     []byte
	during   string // text for error messages: what the request does
	maxBytes int64
	wait     time.Duration   // how long the daemon may wait before it answers
	stripper *configStripper // only for a long poll, which is never repeated on another connection; else nil
	canWait  bool            // the call may wait until the kept connection is free
	keyless  bool
}

func (k *call) writes() bool { return k.method != http.MethodGet }

// calls are the requests to a daemon. They are the same on the kept and on a second connection.
type calls struct {
	do     func(context.Context, *call) ([]byte, error)
	limits *Limits
}

// Status reads /rest/system/status, and checks the device ID in it.
func (c calls) Status(ctx context.Context) (fleet.Status, error) {
	k := &call{method: http.MethodGet, path: statusPath, during: "read the status", maxBytes: c.limits.SmallBytes,
		canWait: true}
	body, err := c.do(ctx, k)
	if err != nil {
		return fleet.Status{}, err
	}
	return parseStatus(body, c.limits)
}

// Version reads /rest/system/version.
func (c calls) Version(ctx context.Context) (fleet.Version, error) {
	body, err := c.get(ctx, "/rest/system/version", "read the version")
	if err != nil {
		return fleet.Version{}, err
	}
	return parseVersion(body, c.limits)
}

// Directories reads /rest/system/paths and returns the directories of the daemon's configuration, keys and database,
// sorted. The result is empty when the daemon has no such path (1.19.2) or its answer is not understood.
func (c calls) Directories(ctx context.Context) ([]string, error) {
	body, err := c.get(ctx, "/rest/system/paths", "read the daemon's own paths")
	if err == nil {
		var directories []string
		if directories, err = parsePaths(body, c.limits); err == nil {
			return directories, nil
		}
	}
	switch fleet.CodeOf(err) {
	case fleet.CodeNotFound, fleet.CodeUnbelievable:
		return nil, nil
	}
	return nil, err
}

// Summary reads /rest/db/status, which is expensive for the daemon. An unknown folder is CodeNotFound.
func (c calls) Summary(ctx context.Context, folder string) (fleet.FolderSummary, error) {
	body, err := c.get(ctx, summaryPath(folder), "read the summary of a folder")
	if err != nil {
		return fleet.FolderSummary{}, err
	}
	return parseSummary(folder, body, c.limits)
}

// Config reads /rest/config and returns it byte for byte. The result contains secrets. For daemons before 1.12 the
// error is CodeUnsupported.
func (c calls) Config(ctx context.Context) ([]byte, error) {
	body, err := c.config(ctx, "/rest/config")
	if fleet.CodeOf(err) == fleet.CodeNotFound {
		return nil, tooOld(err)
	}
	return body, err
}

// SystemConfig reads /rest/system/config, the form of daemons before 1.12.
func (c calls) SystemConfig(ctx context.Context) ([]byte, error) {
	return c.config(ctx, "/rest/system/config")
}

func (c calls) config(ctx context.Context, path string) ([]byte, error) {
	k := &call{method: http.MethodGet, path: path, during: "read the configuration", maxBytes: c.limits.ConfigBytes}
	body, err := c.do(ctx, k)
	if err != nil {
		return nil, err
	}
	return body, checkObject(body, c.limits, k.during)
}

// EventMask lists the event types that Events requests. It never changes, because a daemon has a buffer and numbers of
// its own for each mask.
var EventMask = []string{"ConfigSaved", "FolderSummary", "StateChanged", "DeviceConnected", "DeviceDisconnected",
	"FolderErrors", "PendingDevicesChanged", "PendingFoldersChanged"}

var eventsPath = "/rest/events?events=" + url.QueryEscape(strings.Join(EventMask, ","))

// Events reads the events after number since: the newest, at most limit of them (0: all that the daemon still has). It
// waits up to wait (whole seconds) for the first. Events only uses the kept connection. When that connection was
// replaced since the last call, the error is fleet.ErrReconnected until Status was called.
func (c calls) Events(ctx context.Context, since int64, limit int, wait time.Duration) ([]fleet.DaemonEvent, error) {
	k := c.poll(since, limit, wait)
	body, err := c.do(ctx, k)
	if err != nil {
		return nil, err
	}
	events, err := parseEvents(body, c.limits)
	if err == nil {
		k.stripper.sumNewest(events)
	}
	return events, err
}

// poll returns the call of Events.
func (c calls) poll(since int64, limit int, wait time.Duration) *call {
	path := eventsPath
	if limit > 0 {
		path += "&limit=" + strconv.Itoa(limit)
	}
	path += "&since=" + strconv.FormatInt(since, 10) + "&timeout=" + strconv.Itoa(int(wait/time.Second))
	return &call{method: http.MethodGet, path: path, during: "follow the events",
		maxBytes: c.limits.EventsBytes, wait: wait, stripper: &configStripper{}, canWait: true}
}

// Ignores reads the ignore patterns of a folder. When the daemon cannot read its file, Ignores returns an error, not
// an empty list.
func (c calls) Ignores(ctx context.Context, folder string) ([]string, error) {
	body, err := c.get(ctx, ignoresPath(folder), "read the ignore patterns")
	if err != nil {
		return nil, err
	}
	return parseIgnores(body, c.limits)
}

// SetIgnores replaces the ignore patterns of a folder.
func (c calls) SetIgnores(ctx context.Context, folder string, lines []string) error {
	if lines == nil {
		lines = []string{}
	}
	body, err := json.Marshal(map[string][]string{"ignore": lines})
	if err != nil {
		return err
	}
	return c.Write(ctx, http.MethodPost, ignoresPath(folder), body)
}

func summaryPath(folder string) string { return "/rest/db/status?folder=" + url.QueryEscape(folder) }

func ignoresPath(folder string) string { return "/rest/db/ignores?folder=" + url.QueryEscape(folder) }

// Discovery reads /rest/system/discovery, the addresses of other devices that the daemon has found, as raw JSON. The
// caller must not trust it.
func (c calls) Discovery(ctx context.Context) ([]byte, error) {
	return c.get(ctx, "/rest/system/discovery", "ask for the daemon's discovery cache")
}

// Connections reads /rest/system/connections, the devices that the daemon is connected to, as raw JSON. The caller
// must not trust it.
func (c calls) Connections(ctx context.Context) ([]byte, error) {
	return c.get(ctx, connectionsPath, "ask for the daemon's connections")
}

// ConnectedPeers returns the devices that the daemon is connected to, from /rest/system/connections.
func (c calls) ConnectedPeers(ctx context.Context) (fleet.Peers, error) {
	k := &call{method: http.MethodGet, path: connectionsPath, during: "ask for the daemon's connections",
		maxBytes: c.limits.ConfigBytes}
	body, err := c.do(ctx, k)
	if err != nil {
		return fleet.Peers{}, err
	}
	return parseConnected(body, c.limits)
}

// Write sends one change, once. The path is escaped and begins with /rest/; the body is JSON or nil. CodeRejected
// means that the daemon refused the change, so repeating it is useless. After CodeUnavailable it is unknown whether
// the daemon received the change.
func (c calls) Write(ctx context.Context, method, path string, body []byte) error {
	_, err := c.do(ctx, &call{method: method, path: path, body: body, during: "write to the daemon",
		maxBytes: c.limits.SmallBytes})
	return err
}

func (c calls) get(ctx context.Context, path, during string) ([]byte, error) {
	return c.do(ctx, &call{method: http.MethodGet, path: path, during: during, maxBytes: c.limits.SmallBytes})
}
