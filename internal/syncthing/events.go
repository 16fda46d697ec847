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

const (
	maxEvents    = 1000      // in one answer: so many a daemon keeps
	pendingBytes = 256 << 10 // of changes to what is pending, in one answer: of more the data is left out
)

// parseEvents gives the events in their order. That their numbers make sense is the watcher's business. Most of what
// daemons say is whole configurations in events, which are not wanted from there: they are passed over once. What is
// kept does not grow with the answer.
func parseEvents(body []byte, l Limits) ([]fleet.DaemonEvent, error) {
	const during = "follow the events"
	err := checkShape(body, l)
	var events []fleet.DaemonEvent
	if err == nil {
		events, err = scanEvents(body)
	}
	if err != nil {
		return nil, disbelieve(during, "it is not the JSON that a Syncthing daemon gives", err)
	}
	pending := 0
	for i := range events {
		e := &events[i]
		if e.ID < 0 || e.Type == "" {
			return nil, disbelieve(during, fmt.Sprintf("event %d has no number or type", i+1), nil)
		}
		if err := readEvent(e, l); err != nil {
			return nil, err
		}
		if e.Type != "PendingDevicesChanged" && e.Type != "PendingFoldersChanged" {
			e.Data = nil
		} else if pending += len(e.Data); pending > pendingBytes {
			e.Data = nil
		}
		e.Data = bytes.Clone(e.Data)
	}
	return events, nil
}

// scanEvents reads a list of events and nothing after it. Their data is still part of the body.
func scanEvents(body []byte) (events []fleet.DaemonEvent, err error) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(body), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if err := expect(dec, '['); err != nil {
		return nil, err
	}
	for dec.PeekKind() != ']' {
		if len(events) == maxEvents {
			return nil, fmt.Errorf("more than %d events", maxEvents)
		}
		e, err := scanEvent(dec, body)
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
func scanEvent(dec *jsontext.Decoder, body []byte) (fleet.DaemonEvent, error) {
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
		case field == "data":
			end := int(dec.InputOffset())
			e.Data = body[end-len(value) : end]
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

// readEvent reads what the data of an event says in our words. A whole configuration is not looked at: it holds
// secrets, and is read again where it is wanted.
func readEvent(e *fleet.DaemonEvent, l Limits) error {
	const during = "follow the events"
	switch e.Type {
	case "FolderSummary", "StateChanged", "FolderErrors":
	default:
		return sane(l, during, e.Type)
	}
	var w struct {
		Folder  string          `json:"folder"`
		Summary json.RawMessage `json:"summary"`
		To      string          `json:"to"`
		Error   string          `json:"error"`
		Errors  json.RawMessage `json:"errors"`
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
		first, count, err := itemErrors(w.Errors)
		if err != nil {
			return disbelieve(during, "it is not the JSON that a Syncthing daemon gives", err)
		}
		if count > 0 {
			e.Error = quote([]byte(first))
		}
		if count > 1 {
			e.Error += fmt.Sprintf(" (and %d more)", count-1)
		}
	}
	return nil
}

// itemErrors gives the first of the errors of a folder's items. There may be hundreds of thousands: the others are
// only counted.
func itemErrors(list []byte) (first string, count int, err error) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(list), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if kind := dec.PeekKind(); kind != '[' && kind != 'n' {
		return "", 0, fmt.Errorf("%s where a list of errors is expected", kind)
	}
	_, err = dec.ReadToken()
	for ; err == nil && dec.StackDepth() > 0 && dec.PeekKind() != ']'; count++ {
		if count > 0 {
			err = dec.SkipValue()
			continue
		}
		var item struct {
			Path  string `json:"path"`
			Error string `json:"error"`
		}
		var value jsontext.Value
		if value, err = dec.ReadValue(); err == nil {
			err = json.Unmarshal(value, &item)
		}
		first = item.Path + ": " + item.Error
	}
	return first, count, err
}
