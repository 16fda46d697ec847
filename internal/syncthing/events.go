package syncthing

import (
	"encoding/json"
	"fmt"

	"muster/internal/fleet"
)

// parseEvents gives the events in their order. That their numbers make sense is the watcher's business.
func parseEvents(body []byte, l Limits) ([]fleet.DaemonEvent, error) {
	const during = "follow the events"
	var w []struct {
		ID   *int64          `json:"id"`
		Type string          `json:"type"`
		Data json.RawMessage `json:"data"`
	}
	if err := decode(body, &w, l, during); err != nil {
		return nil, err
	}
	events := make([]fleet.DaemonEvent, len(w))
	for i, e := range w {
		if e.ID == nil || *e.ID < 0 || e.Type == "" {
			return nil, disbelieve(during, fmt.Sprintf("event %d has no number or type", i+1), nil)
		}
		event := fleet.DaemonEvent{ID: *e.ID, Type: e.Type, Data: e.Data}
		if err := readEvent(&event, l); err != nil {
			return nil, err
		}
		events[i] = event
	}
	return events, nil
}

// readEvent reads what the data of an event says in our words, and drops a whole configuration at once: it holds secrets,
// and is read again where it is wanted.
func readEvent(e *fleet.DaemonEvent, l Limits) error {
	const during = "follow the events"
	switch e.Type {
	case "ConfigSaved":
		e.Data = nil
		return nil
	case "FolderSummary", "StateChanged", "FolderErrors":
	default:
		return sane(l, during, e.Type)
	}
	var w struct {
		Folder  string          `json:"folder"`
		Summary json.RawMessage `json:"summary"`
		To      string          `json:"to"`
		Error   string          `json:"error"`
		Errors  []struct {
			Path  string `json:"path"`
			Error string `json:"error"`
		} `json:"errors"`
	}
	if err := decode(e.Data, &w, l, during); err != nil {
		return err
	}
	if err := sane(l, during, w.Folder, w.To, w.Error); err != nil {
		return err
	}
	if w.Folder == "" {
		return disbelieve(during, "an event of a folder does not name it", nil)
	}
	e.Folder, e.State, e.Error = w.Folder, w.To, w.Error
	if e.Type == "FolderSummary" {
		summary, err := parseSummary(w.Folder, w.Summary, l)
		if err != nil {
			return err
		}
		e.Summary = &summary
	}
	if e.Type == "FolderErrors" && len(w.Errors) > 0 {
		e.Error = quote([]byte(w.Errors[0].Path + ": " + w.Errors[0].Error))
		if more := len(w.Errors) - 1; more > 0 {
			e.Error += fmt.Sprintf(" (and %d more)", more)
		}
	}
	return nil
}
