package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"muster/api"
	"muster/internal/fleet"
)

// maxEventLine bounds one line of a stream, in bytes.
const maxEventLine = 1 << 20

// EventFilter picks events. An empty list asks for all.
type EventFilter struct {
	Types   []string
	Devices []string
	Tags    []string

	Opened func() // called when the server has begun to send; nil: it is not
}

// Events follows what happens, and hands each event over as it comes. after is the ID of the last event seen, 0 for
// what happens from now on. It ends with ctx, when each returns an error, which it gives back, or when the stream
// ends, which streams do by themselves after a while: then it is nil, and the last ID leads on.
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
	if filter.Opened != nil {
		filter.Opened()
	}
	last, err = readEvents(resp.Body, after, each)
	if ctx.Err() != nil {
		return last, ctx.Err()
	}
	return last, err
}

// readEvents takes server-sent events apart. A stream that breaks off is one that ends.
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
				return last, &fleet.Error{Code: fleet.CodeInternal, Message: "the server's event is not understood",
					Hint: "Is it a Muster server of this version?", Err: err}
			}
			data = ""
			if err := each(event); err != nil {
				return last, err
			}
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return last, &fleet.Error{Code: fleet.CodeInternal, Message: "an event of the server is too long", Err: lines.Err()}
	}
	return last, nil
}
