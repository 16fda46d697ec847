package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
)

const (
	stopsPage   = 1000 // stops in one answer
	stopsListed = 100  // lines that a person reads
)

// printFirstStops is printStops for the first of so many stops.
func printFirstStops(out io.Writer, indent string, stops []api.ModeStop, count int) {
	stops = stops[:min(len(stops), stopsListed)]
	printStops(out, indent, stops)
	if left := count - len(stops); left > 0 {
		fmt.Fprintf(out, "%sand %s more: `muster status DEVICE` shows those of a device.\n", indent, counted(left, "stop"))
	}
}

// printStops prints one line for each stop: what it keeps from being written, since when, and how it is ended.
func printStops(out io.Writer, indent string, stops []api.ModeStop) {
	for _, stop := range stops {
		fmt.Fprintf(out, "%s%s\n", indent, stopLine(stop))
	}
}

func stopLine(stop api.ModeStop) string {
	what, end := "", ""
	switch stop.Scope {
	case "server":
		what = "any device: the server was started with --configurator=" + stop.Mode
		end = "Start it without that flag to end this."
	case "tag":
		what = fmt.Sprintf("the devices with the tag %q (%d)", stop.Tag, stop.Devices)
		end = "`muster resume --tag " + quoted(stop.Tag) + "` ends this."
	case "device":
		short, _, _ := strings.Cut(stop.DeviceID, "-")
		what = "device " + nameOf(api.DeviceEffect{DeviceID: stop.DeviceID, Label: stop.Label})
		end = "`muster resume --device " + short + "` ends this."
	default:
		what = "any device"
		end = "`muster resume` ends this."
	}
	line := "Stopped (" + stop.Mode + "): nothing is written to " + what
	if stop.Mode == string(fleet.ModePaused) {
		line = "Stopped (" + stop.Mode + "): nothing is watched or written on " + what
	}
	if stop.Since != nil {
		line += ", since " + stop.Since.Time.Local().Format("2006-01-02 15:04:05 MST")
	}
	if stop.By != "" {
		line += ", by " + printable(stop.By)
	}
	return line + ". " + end
}

// stopsOfDevice are the stops that concern a registered device.
func stopsOfDevice(ctx context.Context, server *client.Client, id string) ([]api.ModeStop, error) {
	return server.Stops(ctx, client.List{Device: id})
}

// stopsOfTag are the stops that concern some device with the tag.
func stopsOfTag(ctx context.Context, server *client.Client, tag string) ([]api.ModeStop, error) {
	return server.Stops(ctx, client.List{Tag: tag, Page: stopsPage})
}
