package syncthing

import (
	"context"
	"encoding/json"
	"net/http"

	"muster/internal/fleet"
)

// A daemon keeps its last 1,000 events. Home reads them only when they are few and small.
const (
	homeEvents = 500
	homeBytes  = 512 << 10
)

const duringHome = "ask for the daemon's home"

// Home returns the directory of the daemon's configuration and keys. The first event after the daemon's start contains
// it. Home returns "" when the daemon no longer has that event or has many later ones.
func (c *Client) Home(ctx context.Context) (string, error) {
	home, err := c.firstHome(ctx)
	switch fleet.CodeOf(err) {
	case fleet.CodeNotFound, fleet.CodeUnbelievable:
		return "", nil
	}
	return home, err
}

func (c *Client) firstHome(ctx context.Context) (string, error) {
	newest, err := c.ownEvents(ctx, "&limit=1")
	if err != nil || len(newest) == 0 || newest[len(newest)-1].ID > homeEvents {
		return "", err
	}
	events, err := c.ownEvents(ctx, "")
	if err != nil || len(events) == 0 || events[0].ID != 1 || events[0].Type != "Starting" {
		return "", err
	}
	var started struct{ Home, MyID string }
	if err := json.Unmarshal(events[0].Data, &started); err != nil {
		return "", disbelieve(duringHome, "its first event is not what a Syncthing daemon gives", err)
	}
	if started.MyID != string(c.target.Device) {
		return "", nil
	}
	return started.Home, sane(c.limits, duringHome, started.Home)
}

// ownEvents reads all events since the daemon's start that it still keeps, by a request without a mask.
func (c *Client) ownEvents(ctx context.Context, query string) ([]fleet.DaemonEvent, error) {
	body, err := c.calls.do(ctx, &call{method: http.MethodGet, path: "/rest/events?since=0&timeout=0" + query,
		during: duringHome, maxBytes: homeBytes})
	if err != nil {
		return nil, err
	}
	var events []fleet.DaemonEvent
	if err = checkShape(body, c.limits); err == nil {
		events, err = scanEvents(body)
	}
	if err != nil {
		return nil, disbelieve(duringHome, "it is not the JSON that a Syncthing daemon gives", err)
	}
	return events, nil
}
