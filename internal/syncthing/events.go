package syncthing

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"muster/internal/fleet"
)

// parseEvents gives the events in their order. That their numbers make sense is the watcher's business. Most of what
// daemons say is whole configurations in events, which nobody wants from there: they are passed over once.
func parseEvents(body []byte, l Limits) ([]fleet.DaemonEvent, error) {
	const during = "follow the events"
	err := checkShape(body, l)
	var events []fleet.DaemonEvent
	if err == nil {
		events, err = scanEvents(jsontext.NewDecoder(bytes.NewBuffer(body), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)))
	}
	if err != nil {
		return nil, disbelieve(during, "it is not the JSON that a Syncthing daemon gives", err)
	}
	for i := range events {
		if events[i].ID < 0 || events[i].Type == "" {
			return nil, disbelieve(during, fmt.Sprintf("event %d has no number or type", i+1), nil)
		}
		if err := readEvent(&events[i], l); err != nil {
			return nil, err
		}
	}
	return events, nil
}

// scanEvents reads a list of events and nothing after it.
func scanEvents(dec *jsontext.Decoder) (events []fleet.DaemonEvent, err error) {
	if err := expect(dec, '['); err != nil {
		return nil, err
	}
	for dec.PeekKind() != ']' {
		e, err := scanEvent(dec)
		if err != nil {
			return nil, err
		}
		events = append(events, e)
	}
	if err := expect(dec, ']'); err != nil {
		return nil, err
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, cmp.Or(err, errors.New("there is more after the list"))
	}
	return events, nil
}

// scanEvent reads one event, as it is; the ID is negative when there is none.
func scanEvent(dec *jsontext.Decoder) (fleet.DaemonEvent, error) {
	e := fleet.DaemonEvent{ID: -1}
	if err := expect(dec, '{'); err != nil {
		return e, err
	}
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return e, err
		}
		field := name.String()
		value, err := dec.ReadValue()
		switch {
		case err != nil:
		case field == "id":
			err = json.Unmarshal(value, &e.ID)
		case field == "type":
			err = json.Unmarshal(value, &e.Type)
		case field == "data" && e.Type != configSaved:
			e.Data = bytes.Clone(value)
		}
		if err != nil {
			return e, err
		}
	}
	return e, expect(dec, '}')
}

func expect(dec *jsontext.Decoder, kind jsontext.Kind) error {
	token, err := dec.ReadToken()
	if err == nil && token.Kind() != kind {
		err = fmt.Errorf("%s where %s is expected", token.Kind(), kind)
	}
	return err
}

const configSaved = "ConfigSaved"

// readEvent reads what the data of an event says in our words, and drops a whole configuration at once: it holds secrets,
// and is read again where it is wanted.
func readEvent(e *fleet.DaemonEvent, l Limits) error {
	const during = "follow the events"
	switch e.Type {
	case configSaved:
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
