package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"muster/api"
	"muster/internal/fleet"
)

// deviceColumn is a column of the table of devices. Its name in --columns and --sort is its title in small letters.
type deviceColumn struct {
	title string
	sort  string // the order of the server, "" where it sorts by something else only
	cell  func(api.InventoryDevice) string
	usual bool // the column is printed where --columns names none

	fields []string // the fields of the API that are its columns for spreadsheets
}

func (c deviceColumn) name() string { return orderOf(c.title) }

// deviceColumns are those of the console's table, in its order, and what a device waits for and the ID. The usual ones
// are the same there.
var deviceColumns = []deviceColumn{
	{"DEVICE", "label", func(d api.InventoryDevice) string { return nameOf(d.DeviceID, d.Label) },
		true, []string{"label", "deviceID"}},
	{"CONNECTION", "connection", func(d api.InventoryDevice) string { return d.Connection },
		true, []string{"connection"}},
	{"CONFIGURATION", "configuration", func(d api.InventoryDevice) string { return d.Configuration },
		true, []string{"configuration"}},
	{"FOLDERS", "folders", func(d api.InventoryDevice) string { return foldersIn(d.Folders) },
		true, []string{"folders"}},
	{"TO GO", "needBytes", lackOfDevice, true, []string{"needBytes", "needUnknown"}},
	{"TAGS", "", func(d api.InventoryDevice) string { return orDash(strings.Join(d.Tags, ", ")) },
		true, []string{"tags"}},
	{"VERSION", "version", func(d api.InventoryDevice) string { return orDash(d.Version) }, true, []string{"version"}},
	{"SYSTEM", "os", func(d api.InventoryDevice) string { return orDash(strings.TrimSpace(d.OS + " " + d.Arch)) },
		false, []string{"os", "arch"}},
	{"DISK FREE", "diskFree", func(d api.InventoryDevice) string { return percentOf(d.DiskFree) },
		true, []string{"diskFree"}},
	{"SINCE", "since", func(d api.InventoryDevice) string { return shortTime(d.Since) }, true, []string{"since"}},
	{"LAST SEEN", "lastSeen", func(d api.InventoryDevice) string { return shortTime(d.LastSeen) },
		false, []string{"lastSeen"}},
	{"ADDRESS", "foundBy", addressOf, false, []string{"address", "foundBy"}},
	{"WAITS", "", func(d api.InventoryDevice) string { return orDash(strings.Join(d.Waits, ", ")) },
		false, []string{"waits"}},
	{"ID", "", func(d api.InventoryDevice) string { return d.DeviceID }, false, []string{"deviceID"}},
}

// addressOf is where a daemon was reached last, and how the address was found.
func addressOf(d api.InventoryDevice) string {
	if d.Address == "" {
		return "-"
	}
	return printable(fmt.Sprintf("%s (%s)", d.Address, cmp.Or(d.FoundBy, "not known how")))
}

// inventorySorts are the orders of a list of devices: its columns, and how its worst folder stands.
var inventorySorts = func() (orders []namedOrder) {
	for _, column := range deviceColumns {
		if column.sort != "" {
			orders = append(orders, namedOrder{column.name(), column.sort})
		}
	}
	return append(orders, namedOrder{"folder-state", "folderState"})
}()

// orderAliases are other words for some of them.
var orderAliases = map[string]string{"name": "label", "seen": "lastSeen", "need": "needBytes"}

func (*deviceListCommand) orders() []string { return wordsOf(inventorySorts) }

const allColumns = "all"

// columnNames are the values of --columns.
func columnNames() []string {
	names := []string{allColumns}
	for _, column := range deviceColumns {
		names = append(names, column.name())
	}
	return names
}

// chosenColumns are the columns that --columns names, in its order.
func chosenColumns(names []string) (chosen []deviceColumn, err error) {
	if len(names) == 0 {
		return slices.DeleteFunc(slices.Clone(deviceColumns), func(c deviceColumn) bool { return !c.usual }), nil
	}
	for _, name := range names {
		if name == allColumns {
			return deviceColumns, nil
		}
		at := slices.IndexFunc(deviceColumns, func(c deviceColumn) bool { return sameOrder(c.name(), name) })
		if at < 0 {
			hint := "Write one or several of: " + strings.Join(columnNames(), ", ") + "."
			if near := fleet.Nearest(name, columnNames()); near != "" {
				hint = fmt.Sprintf("Did you mean %s? %s", near, hint)
			}
			return nil, &fleet.Error{Code: fleet.CodeInvalid, Hint: hint,
				Message: fmt.Sprintf("--columns %q is no column of devices", name)}
		}
		chosen = append(chosen, deviceColumns[at])
	}
	return chosen, nil
}

// fieldsFor are the fields of the columns that --columns names; nil where these are all.
func fieldsFor(names []string, chosen []deviceColumn) (fields []string) {
	if len(names) == 0 || slices.Contains(names, allColumns) {
		return nil
	}
	for _, column := range chosen {
		fields = append(fields, column.fields...)
	}
	return fields
}

func printInventory(out io.Writer, shown []deviceColumn, devices []api.InventoryDevice) error {
	if len(devices) == 0 {
		return nil
	}
	table := newTable(out)
	cells := make([]string, len(shown))
	for i, column := range shown {
		cells[i] = column.title
	}
	fmt.Fprintln(table, strings.Join(cells, "\t"))
	for _, d := range devices {
		for i, column := range shown {
			cells[i] = column.cell(d)
		}
		fmt.Fprintln(table, strings.Join(cells, "\t"))
	}
	return table.Flush()
}
