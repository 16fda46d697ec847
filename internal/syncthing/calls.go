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
	probePath  = "/rest/noauth/health" // 200 without a key since 1.20; older ones refuse, with their ID in the header
	statusPath = "/rest/system/status"
)

// call is one request and what may come back.
type call struct {
	method   string
	path     string // with query, escaped
	body     []byte
	during   string // for error messages
	maxBytes int64
	wait     time.Duration // how long the daemon may hold the answer back
	sifter   *sifter       // of a poll, which is never repeated on another connection; nil for all else
	canWait  bool          // for the kept connection to be free
	keyless  bool
}

func (k call) writes() bool { return k.method != http.MethodGet }

// calls are the requests that a daemon understands. They are the same on the kept and on a second connection.
type calls struct {
	do     func(context.Context, call) ([]byte, error)
	limits Limits
}

// Status reads /rest/system/status. The ID in it has been checked.
func (c calls) Status(ctx context.Context) (fleet.Status, error) {
	k := call{method: http.MethodGet, path: statusPath, during: "read the status", maxBytes: c.limits.SmallBytes,
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

// Directories reads /rest/system/paths: the directories of the daemon's configuration, keys and database, sorted.
// There are none where the daemon does not have the path (1.19.2), or says something else there.
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
	body, err := c.get(ctx, "/rest/db/status?folder="+url.QueryEscape(folder), "read the summary of a folder")
	if err != nil {
		return fleet.FolderSummary{}, err
	}
	return parseSummary(folder, body, c.limits)
}

// Config reads /rest/config, byte for byte: it holds secrets. CodeUnsupported for daemons before 1.12.
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
	k := call{method: http.MethodGet, path: path, during: "read the configuration", maxBytes: c.limits.ConfigBytes}
	body, err := c.do(ctx, k)
	if err != nil {
		return nil, err
	}
	return body, checkObject(body, c.limits, k.during)
}

// EventMask is what Events asks for. It is fixed: the daemon buffers and numbers events per mask.
var EventMask = []string{"ConfigSaved", "FolderSummary", "StateChanged", "DeviceConnected", "DeviceDisconnected",
	"FolderErrors", "PendingDevicesChanged", "PendingFoldersChanged"}

var eventsPath = "/rest/events?events=" + url.QueryEscape(strings.Join(EventMask, ","))

// Events reads the events after since, at most the limit newest (0: all that the daemon has buffered), and waits up to
// wait (whole seconds) for the first. It waits for the kept connection and goes over no other one by itself: where
// there is another one by now, the error is fleet.ErrReconnected until Status was called.
func (c calls) Events(ctx context.Context, since int64, limit int, wait time.Duration) ([]fleet.DaemonEvent, error) {
	path := eventsPath
	if limit > 0 {
		path += "&limit=" + strconv.Itoa(limit)
	}
	path += "&since=" + strconv.FormatInt(since, 10) + "&timeout=" + strconv.Itoa(int(wait/time.Second))
	var sifter sifter
	body, err := c.do(ctx, call{method: http.MethodGet, path: path,
		during:   "follow the events",
		maxBytes: c.limits.EventsBytes, wait: wait, sifter: &sifter, canWait: true})
	if err != nil {
		return nil, err
	}
	events, err := parseEvents(body, c.limits)
	if err == nil {
		sifter.sumNewest(events)
	}
	return events, err
}

// Ignores reads the ignore patterns of a folder. What the daemon cannot read is an error, never an empty list.
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

func ignoresPath(folder string) string { return "/rest/db/ignores?folder=" + url.QueryEscape(folder) }

// Discovery reads /rest/system/discovery: what the daemon knows of where others are. Raw JSON, not to be believed.
func (c calls) Discovery(ctx context.Context) ([]byte, error) {
	return c.get(ctx, "/rest/system/discovery", "ask for the daemon's discovery cache")
}

// Connections reads /rest/system/connections: to whom the daemon is connected. Raw JSON, not to be believed.
func (c calls) Connections(ctx context.Context) ([]byte, error) {
	return c.get(ctx, "/rest/system/connections", "ask for the daemon's connections")
}

// Write sends one change, once. The path is escaped and begins with /rest/; the body is JSON or nil. CodeRejected: the
// daemon understood and refused, so repeating is useless. After CodeUnavailable the change may have arrived or not.
func (c calls) Write(ctx context.Context, method, path string, body []byte) error {
	_, err := c.do(ctx, call{method: method, path: path, body: body, during: "write to the daemon",
		maxBytes: c.limits.SmallBytes})
	return err
}

func (c calls) get(ctx context.Context, path, during string) ([]byte, error) {
	return c.do(ctx, call{method: http.MethodGet, path: path, during: during, maxBytes: c.limits.SmallBytes})
}
