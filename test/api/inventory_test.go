package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
	"muster/test/daemon"
	"muster/test/server"
	"muster/test/wait"
)

// A real daemon is in the inventory, its held change waits for a person, the action that the answer gives solves it,
// and why says which template did it. Events carry the rows meanwhile.
func TestTheInventoryFollowsARealDaemon(t *testing.T) {
	t.Parallel()
	d := daemon.Start(t, daemon.Options{TLS: true})
	d.AddFolder("docs")
	s := server.Start(t, server.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	rows := make(chan api.InventoryDevice, 1000)
	ended := make(chan error, 1)
	go func() {
		_, err := s.Client.Events(ctx, client.EventFilter{Types: []string{"inventory"}}, 0, func(e api.Event) error {
			var data api.InventoryEvent
			err := json.Unmarshal(e.Data, &data)
			rows <- data.Row
			return err
		})
		ended <- err
	}()
	s.Register(d.ID, d.APIKey, d.Address, d.Port, "office")
	waitRow(t, s, "online with its folder", func(row api.InventoryDevice) bool {
		return row.Connection == "online" && row.Version != "" && row.OS == "linux" && row.FoundBy == "record" &&
			row.Folders["all"] == 1 && row.Folders["unshared"] == 1 && slices.Equal(row.Tags, []string{"office"}) &&
			len(row.Waits) == 0
	})
	s.Template("set", "gui.user", `"anna"`, "office")
	waitRow(t, s, "held", func(row api.InventoryDevice) bool { return slices.Equal(row.Waits, []string{"held"}) })
	waitEvent(t, rows, func(row api.InventoryDevice) bool { return row.Configuration == "held" })
	why, err := s.Client.DeviceWhy(t.Context(), string(d.ID), "gui.user")
	if err != nil || string(why.Value) != `"anna"` || len(why.Steps) != 1 || why.Steps[0].Line != 1 {
		t.Errorf("got %+v, %v", why, err)
	}
	waiting, err := s.Client.Waiting(t.Context(), "")
	if err != nil || waiting.Devices != 1 {
		t.Fatalf("got %+v, %v", waiting, err)
	}
	i := slices.IndexFunc(waiting.Groups, func(g api.WaitingGroup) bool { return g.Cause == "held" })
	if i < 0 || waiting.Groups[i].Subject != "gui.user" || string(waiting.Groups[i].To) != `"anna"` {
		t.Fatalf("got %+v", waiting.Groups)
	}
	answerShown(t, s, waiting.Groups[i])
	waitRow(t, s, "in sync", func(row api.InventoryDevice) bool {
		return row.Configuration == "inSync" && len(row.Waits) == 0
	})
	waitEvent(t, rows, func(row api.InventoryDevice) bool { return row.Configuration == "inSync" })
	var gui struct {
		User string `json:"user"`
	}
	d.GetJSON("/rest/config/gui", &gui)
	if gui.User != "anna" {
		t.Errorf("the daemon has the user %q", gui.User)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// waitRow waits until the one row of the inventory is as it is to be.
func waitRow(t *testing.T, s *server.Server, what string, want func(api.InventoryDevice) bool) {
	t.Helper()
	wait.Until(t, func() string {
		got, err := s.Client.Inventory(t.Context(), client.InventoryQuery{})
		if err != nil || len(got.Devices) != 1 || !want(got.Devices[0]) {
			return fmt.Sprintf("want %s, got %+v, %v", what, got, err)
		}
		return ""
	})
}

func waitEvent(t *testing.T, rows <-chan api.InventoryDevice, want func(api.InventoryDevice) bool) {
	t.Helper()
	wait.Until(t, func() string {
		for {
			select {
			case row := <-rows:
				if want(row) {
					return ""
				}
			default:
				return "no event has that row"
			}
		}
	})
}

// answerShown sends the first answer that a group offers, for all changes that it shows.
func answerShown(t *testing.T, s *server.Server, g api.WaitingGroup) {
	t.Helper()
	a := g.Actions[0]
	var body api.AnswerConsents
	if err := json.Unmarshal(a.Body, &body); err != nil || !a.Shown {
		t.Fatalf("%+v is no answer to what is shown: %v", a, err)
	}
	for _, d := range g.Devices {
		for _, held := range d.Held {
			body.Shown = append(body.Shown, api.ShownChange{DeviceID: d.DeviceID, Digest: held.Digest})
		}
	}
	a.Body, _ = json.Marshal(body)
	act(t, s, a)
}

// act sends an action for a whole group as it is.
func act(t *testing.T, s *server.Server, a api.WaitingAction) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), a.Method, s.URL+a.Path, strings.NewReader(string(a.Body)))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+s.Token)
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if body, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %s %s, %v", a.Method, a.Path, resp.Status, body, err)
	}
}

// Rows of a fleet of simulated daemons of other versions, read by a caller who sees a part of them.
func TestAScopedCallerHasAnInventoryOfTheirOwn(t *testing.T) {
	t.Parallel()
	s, ids := quiet(t)
	if _, err := s.Client.TagDevice(t.Context(), string(ids[1]), "lima"); err != nil {
		t.Fatal(err)
	}
	token, err := s.Client.CreateTokenWith(t.Context(), api.CreateToken{Name: new("lima"),
		Role: new("operator"), Tags: &[]string{"lima"}})
	if err != nil {
		t.Fatal(err)
	}
	mine, err := s.As(token.Secret).Inventory(t.Context(), client.InventoryQuery{})
	if err != nil || mine.Total != 1 || len(mine.Devices) != 1 || mine.Devices[0].DeviceID != string(ids[1]) ||
		mine.Counts.Connections["online"] != 1 {
		t.Errorf("got %+v, %v", mine, err)
	}
	all, err := s.Client.Inventory(
		t.Context(),
		client.InventoryQuery{States: []string{string(fleet.Online)}, Sort: "-folders"},
	)
	if err != nil || all.Matched != daemons || all.Devices[0].Version == "" || all.Devices[0].Folders["all"] == 0 {
		t.Errorf("got %+v, %v", all, err)
	}
}
