package syncthing

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"muster/internal/fleet"
)

const (
	maxEvents    = 1000      // events in one answer; a daemon keeps no more
	pendingBytes = 256 << 10 // data about pending devices and folders in one answer; with more, the data is dropped
)

// parseEvents returns the events in their order. The watcher checks their numbers. The parser skips configurations in
// events, and the size of the result has a limit that does not depend on the answer.
func parseEvents(body []byte, l *Limits) ([]fleet.DaemonEvent, error) {
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

// scanEvents reads a list of events with nothing after it. The data of each event still refers to the body.
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

// scanEvent reads one event without interpreting its data. The ID is negative when the event has none.
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
		case field == "time":
			e.At = parseTime(strings.Trim(string(value), `"`))
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

// readEvent interprets the data of an event. It does not look at configurations: they contain secrets, and code
// that needs one reads it from the daemon.
func readEvent(e *fleet.DaemonEvent, l *Limits) error {
	switch e.Type {
	case "FolderSummary", "StateChanged", "FolderErrors":
		return readFolderEvent(e, l)
	case "DeviceConnected", "DeviceDisconnected":
		return readPeerEvent(e, l)
	}
	return sane(l, duringEvents, e.Type)
}

const duringEvents = "follow the events"

func readFolderEvent(e *fleet.DaemonEvent, l *Limits) error {
	var w struct {
		Folder  string          `json:"folder"`
		Summary json.RawMessage `json:"summary"`
		To      string          `json:"to"`
		Error   string          `json:"error"`
		Errors  json.RawMessage `json:"errors"`
	}
	if err := decode(e.Data, &w, l, duringEvents); err != nil {
		return err
	}
	if err := sane(l, duringEvents, w.Folder, w.To); err != nil {
		return err
	}
	if w.Folder == "" {
		return disbelieve(duringEvents, "an event of a folder does not name it", nil)
	}
	e.Folder, e.State, e.Error = w.Folder, stateWord(w.To), shortText(w.Error, maxErrorBytes)
	switch e.Type {
	case "FolderSummary":
		summary, err := parseSummary(w.Folder, w.Summary, l)
		if err != nil {
			e.Error = fleet.Reason(err)
			return nil
		}
		e.Summary = &summary
	case "FolderErrors":
		var err error
		if e.Items, e.Failed, err = parseFailedItems(w.Errors); err != nil {
			return disbelieve(duringEvents, "it is not the JSON that a Syncthing daemon gives", err)
		}
	}
	return nil
}

// readPeerEvent reads which device connected or disconnected.
func readPeerEvent(e *fleet.DaemonEvent, l *Limits) error {
	var w struct {
		ID string `json:"id"`
	}
	if err := decode(e.Data, &w, l, duringEvents); err != nil {
		return err
	}
	e.Peer, _ = fleet.ParseDeviceID(w.ID)
	return nil
}
