package sink

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"time"

	"muster/internal/fleet"
)

// record is one entry in the form in which sinks get it.
type record struct {
	stream fleet.SinkStream
	number int64 // Number of the entry in its stream. It is 0 if the record is about the sink itself.
	at     time.Time
	id     string // the same however often the record is sent
	level  level
	text   string
	json   []byte // the document
}

// level is how serious a record is.
type level int

const (
	levelInfo level = iota
	levelWarning
)

func (l level) String() string {
	if l == levelWarning {
		return "warning"
	}
	return "info"
}

// document has the fields of a record. The names outside of muster are those of the Elastic Common Schema.
type document struct {
	At      time.Time   `json:"@timestamp"`
	Message string      `json:"message"`
	Event   eventFields `json:"event"`
	Log     logFields   `json:"log"`
	Host    *hostFields `json:"host,omitempty"`
	User    *userFields `json:"user,omitempty"`
	Muster  ownFields   `json:"muster"`
}

type eventFields struct {
	ID       string `json:"id"`
	Kind     string `json:"kind"`
	Module   string `json:"module"`
	Dataset  string `json:"dataset"`
	Action   string `json:"action"`
	Sequence int64  `json:"sequence,omitempty"`
}

type logFields struct {
	Level string `json:"level"`
}

type hostFields struct {
	ID   string `json:"id"`
	Name string `json:"name,omitempty"`
}

type userFields struct {
	Name string `json:"name"`
}

type ownFields struct {
	Stream   fleet.SinkStream `json:"stream"`
	Folder   string           `json:"folder,omitempty"`
	State    string           `json:"state,omitempty"`
	Before   string           `json:"before,omitempty"`
	Reason   string           `json:"reason,omitempty"`
	Cause    string           `json:"cause,omitempty"`
	Revision int64            `json:"revision,omitempty"`
	Subject  string           `json:"subject,omitempty"`
	Detail   string           `json:"detail,omitempty"`
	Previous string           `json:"previous,omitempty"` // hash of the audit entry before
	Hash     string           `json:"hash,omitempty"`
	Lost     int64            `json:"lost,omitempty"` // entries that were deleted before they were sent
}

func (r record) with(d document) record {
	d.At, d.Message = r.at.UTC(), r.text
	d.Event.ID, d.Event.Kind, d.Event.Module, d.Event.Sequence = r.id, "event", "muster", r.number
	d.Event.Dataset, d.Log.Level, d.Muster.Stream = "muster."+string(r.stream), r.level.String(), r.stream
	r.json, _ = json.Marshal(d) // strings and numbers
	return r
}

// ofLog makes the record of an entry of the event log.
func ofLog(e fleet.LogEntry) record {
	r := record{stream: fleet.StreamOf(e.Kind), number: e.Number, at: e.At, text: textOf(e)}
	r.id = fmt.Sprintf("%d-%d-%s", e.At.UnixMilli(), e.Number, e.Device.Short())
	if e.Kind != fleet.LogRevision && e.Kind != fleet.LogOrder && !e.Kind.Quiet(e.State) {
		r.level = levelWarning
	}
	return r.with(document{Event: eventFields{Action: string(e.Kind)},
		Host: &hostFields{ID: string(e.Device), Name: e.Label},
		Muster: ownFields{Folder: e.Folder, State: e.State, Before: e.Before, Reason: e.Reason, Cause: e.Cause,
			Revision: e.Revision}})
}

func textOf(e fleet.LogEntry) string {
	subject := e.Label
	if subject == "" {
		subject = e.Device.Short()
	}
	if e.Folder != "" {
		subject += ", folder " + e.Folder
	}
	return subject + ": " + e.Text()
}

// ofAudit makes the record of an entry of the audit. Its ID is the entry's hash, which has the whole chain in it.
func ofAudit(e fleet.AuditEntry) record {
	r := record{stream: fleet.StreamAudit, number: e.ID, at: e.At, id: e.Hash, text: e.Who + ": " + e.What}
	if e.Subject != "" {
		r.text += " " + e.Subject
	}
	return r.with(document{Event: eventFields{Action: e.What}, User: &userFields{Name: e.Who},
		Muster: ownFields{Subject: e.Subject, Detail: e.Detail, Previous: e.Previous, Hash: e.Hash}})
}

// gap tells a sink how many entries it will never get. name and number make its ID the same when it is sent again.
func gap(name string, lost, before int64, now time.Time) record {
	r := record{stream: fleet.StreamProblems, at: now, level: levelWarning,
		id: fmt.Sprintf("gap-%s-%d-%d", name, before, lost)}
	r.text = fmt.Sprintf("%d entries were deleted because of their age before they could be sent to this sink", lost)
	return r.with(document{Event: eventFields{Action: "gap"}, Muster: ownFields{Lost: lost}})
}

// trial is what a sink gets when somebody tries it.
func trial(now time.Time) record {
	r := record{stream: fleet.StreamProblems, at: now, id: "trial-" + rand.Text(),
		text: "somebody tries whether this sink is reached; nothing happened"}
	return r.with(document{Event: eventFields{Action: "trial"}})
}
