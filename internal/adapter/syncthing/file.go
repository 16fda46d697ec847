package syncthing

import (
	"context"
	"net/url"
	"strconv"

	"muster/internal/fleet"
)

const (
	maxHolders = 200 // devices that have a file
	maxVector  = 200 // members of a version
)

// File reads /rest/db/file, what the daemon knows about one file of a folder. CodeNotFound: it knows no such file.
func (c calls) File(ctx context.Context, folder, path string) (fleet.File, error) {
	body, err := c.get(ctx, "/rest/db/file?folder="+url.QueryEscape(folder)+"&file="+url.QueryEscape(path), duringFile)
	if err != nil {
		return fleet.File{}, err
	}
	return parseFile(body, c.limits)
}

const duringFile = "ask for a file"

// fileVersion is one version in the daemon's JSON. Its name is "" when there is no version.
type fileVersion struct {
	Name       string   `json:"name"`
	Deleted    bool     `json:"deleted"`
	Ignored    bool     `json:"ignored"`
	Invalid    bool     `json:"invalid"`
	Size       int64    `json:"size"`
	Modified   string   `json:"modified"`
	ModifiedBy string   `json:"modifiedBy"`
	Version    []string `json:"version"`
}

func parseFile(body []byte, l *Limits) (fleet.File, error) {
	var w struct {
		Global       fileVersion `json:"global"`
		Local        fileVersion `json:"local"`
		Availability []struct {
			ID            string `json:"id"`
			FromTemporary bool   `json:"fromTemporary"`
		} `json:"availability"`
	}
	if err := decode(body, &w, l, duringFile); err != nil {
		return fleet.File{}, err
	}
	file := fleet.File{Global: w.Global.version(), Local: w.Local.version()}
	for _, holder := range w.Availability[:min(len(w.Availability), maxHolders)] {
		if id, err := fleet.ParseDeviceID(holder.ID); err == nil && !holder.FromTemporary {
			file.HeldBy = append(file.HeldBy, id)
		}
	}
	return file, nil
}

func (v fileVersion) version() fleet.FileVersion {
	if v.Name == "" {
		return fleet.FileVersion{}
	}
	out := fleet.FileVersion{Known: true, Deleted: v.Deleted, Ignored: v.Ignored, Invalid: v.Invalid,
		Size: max(v.Size, 0), Modified: parseTime(v.Modified), ModifiedBy: shortText(v.ModifiedBy, 63)}
	for _, member := range v.Version[:min(len(v.Version), maxVector)] {
		out.Vector = append(out.Vector, shortText(member, 63))
	}
	return out
}

// FailedItems reads a page of /rest/folder/errors: items that the folder could not sync. The first page is 1. more is
// true when there may be a next page.
func (c calls) FailedItems(ctx context.Context, folder string, page, size int) (items []fleet.FailedItem, more bool,
	err error) {
	body, err := c.get(ctx, "/rest/folder/errors?folder="+url.QueryEscape(folder)+"&page="+strconv.Itoa(page)+
		"&perpage="+strconv.Itoa(size), "ask for the items that failed")
	if err != nil {
		return nil, false, err
	}
	return parseFailedPage(body, size, c.limits)
}

func parseFailedPage(body []byte, size int, l *Limits) (items []fleet.FailedItem, more bool, err error) {
	var w struct {
		Errors []struct {
			Path  string `json:"path"`
			Error string `json:"error"`
		} `json:"errors"`
	}
	if err := decode(body, &w, l, "ask for the items that failed"); err != nil {
		return nil, false, err
	}
	for _, item := range w.Errors[:min(len(w.Errors), size)] {
		items = append(items, fleet.FailedItem{Path: shortText(item.Path, maxItemPath),
			Text: shortText(item.Error, maxItemText)})
	}
	return items, len(w.Errors) >= size, nil
}
