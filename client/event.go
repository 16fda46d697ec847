package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"muster/api"
	"muster/internal/fleet"
)

// maxEventLine bounds one line of a stream, in bytes.
const maxEventLine = 1 << 20

// EventFilter selects events. An empty list selects all.
type EventFilter struct {
	Types   []string
	Devices []string
	Tags    []string

	Opened func()      // called when the server has begun to send; may be nil
	Lost   func(error) // called by Watch when it cannot reach the server any more; may be nil
}

// LogSearch selects entries of the event log. The zero value selects the newest ones, as many as the server gives at a
// time. An empty list selects all.
type LogSearch struct {
	Devices []string // device IDs
	Tags    []string
	Folder  string
	Kinds   []string
	Since   time.Time // zero: from the first
	Until   time.Time // exclusive; zero: to the last
	Oldest  bool      // oldest first
	After   int64     // those that come after the entry with this number; 0: from the beginning
	Limit   int       // 0: as many as the server gives at a time
}

// EventLog is one page of what happened and is kept.
func (c *Client) EventLog(ctx context.Context, s LogSearch) ([]api.LogEntry, error) {
	values := url.Values{"device": s.Devices, "tag": s.Tags, "kind": s.Kinds}
	for name, text := range map[string]string{
		"folder": s.Folder, "after": positive(s.After), "limit": positive(s.Limit),
	} {
		if text != "" {
			values.Set(name, text)
		}
	}
	for name, at := range map[string]time.Time{"since": s.Since, "until": s.Until} {
		if !at.IsZero() {
			values.Set(name, at.UTC().Format(time.RFC3339Nano))
		}
	}
	if s.Oldest {
		values.Set("order", "oldest")
	}
	return get[[]api.LogEntry](ctx, c, path("events", "log")+"?"+values.Encode())
}

// EachLogEntry gives each entry that a search finds, page by page; its limit is the length of a page.
func (c *Client) EachLogEntry(ctx context.Context, s LogSearch, each func(api.LogEntry) error) error {
	for {
		page, err := c.EventLog(ctx, s)
		if err != nil || len(page) == 0 {
			return err
		}
		for _, entry := range page {
			if err := each(entry); err != nil {
				return err
			}
		}
		s.After = page[len(page)-1].Number
	}
}

// Events calls each with every event as it comes. after is the ID of the last event seen, 0 for events from now on.
// Events ends with ctx, with the error of each, or without an error when the server ends the stream, as it does after
// a while: call it again with last, or use Watch, which does that.
func (c *Client) Events(ctx context.Context, filter EventFilter, after int64, each func(api.Event) error) (last int64,
	err error) {
	query := url.Values{"type": filter.Types, "device": filter.Devices, "tag": filter.Tags}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base.String()+path("events")+"?"+query.Encode(), nil)
	if err != nil {
		return after, fmt.Errorf("make the request: %w", err)
	}
	r.Header.Set("Accept", api.EventStream)
	r.Header.Set("Authorization", "Bearer "+c.token)
	if after > 0 {
		r.Header.Set("Last-Event-ID", strconv.FormatInt(after, 10))
	}
	streaming := *c.http
	streaming.Timeout = 0 // a stream lasts
	resp, err := streaming.Do(r)
	if err != nil {
		return after, c.unreachable(ctx, err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return after, c.read(resp, nil)
	}
	if media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); media != api.EventStream {
		return after, badAnswer(fleet.CodeInternal, "the server's answer is no stream of events",
			"Is it a Muster server? A proxy in between may answer in its place.", nil)
	}
	if filter.Opened != nil {
		filter.Opened()
	}
	last, err = readEvents(resp.Body, after, each)
	if ctx.Err() != nil {
		return last, ctx.Err()
	}
	return last, err
}

// readEvents parses server-sent events. It takes a stream that breaks off for one that has ended.
func readEvents(from io.Reader, last int64, each func(api.Event) error) (int64, error) {
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, maxEventLine)
	data := ""
	for lines.Scan() {
		field, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "id":
			if id, err := strconv.ParseInt(value, 10, 64); err == nil {
				last = id
			}
		case "data":
			data += value
		case "":
			if lines.Text() != "" || data == "" {
				continue // a comment, or a block that only carries an ID
			}
			var event api.Event
			if err := json.Unmarshal([]byte(data), &event); err != nil {
				return last, badAnswer(fleet.CodeInternal, "the server's event is not understood", sameVersion, err)
			}
			data = ""
			if err := each(event); err != nil {
				return last, err
			}
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return last, badAnswer(fleet.CodeInternal, "an event of the server is too long", sameVersion, lines.Err())
	}
	return last, nil
}
