package httpapi

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"muster/internal/fleet"
)

// TestBadInput is the table of what people and programs get wrong. Each row has its status and a problem document that
// says what to do; field is what errors[] has to name.
func TestBadInput(t *testing.T) {
	w := newWorld(t)
	w.device(idA, "one")
	one := w.template(`{"op":"set","key":"","template":"{}"}`)
	device, devices := Prefix+"/devices/"+string(idA), Prefix+"/devices"
	templates, evaluate := Prefix+"/templates", Prefix+"/templates/evaluate"
	known := decoded(t, w.get(device))["updatedAt"]
	long := func(n int) string { return strings.Repeat("x", n) }
	jsonType := func(value string) http.Header { return http.Header{"Content-Type": {value}} }
	const put, get, post, del, head = http.MethodPut, http.MethodGet, http.MethodPost, http.MethodDelete, http.MethodHead

	rows := map[string]struct {
		status int
		field  string // or location
		call   call
	}{
		// Bodies that are no JSON.
		"no body":                {400, "", call{method: put, path: device}},
		"blank body":             {400, "", call{method: put, path: device, body: " \n"}},
		"no JSON":                {400, "", call{method: put, path: device, body: "label=x"}},
		"cut off":                {400, "", call{method: put, path: device, body: `{"label":"x"`}},
		"trailing comma":         {400, "", call{method: put, path: device, body: `{"label":"x",}`}},
		"single quotes":          {400, "", call{method: put, path: device, body: `{'label':'x'}`}},
		"comment":                {400, "", call{method: put, path: device, body: `{"label":"x" /* no */}`}},
		"garbage after":          {400, "", call{method: put, path: device, body: `{"label":"x"} x`}},
		"two documents":          {400, "", call{method: put, path: device, body: `{"label":"x"}{}`}},
		"twice the same name":    {400, "label", call{method: put, path: device, body: `{"label":"x","label":"y"}`}},
		"bytes that are no text": {400, "", call{method: put, path: device, body: "{\"label\":\"\xff\"}"}},
		"half a surrogate":       {400, "", call{method: put, path: device, body: `{"label":"\ud83d"}`}},
		"leading zero":           {400, "", call{method: put, path: device, body: `{"apiPort":08384}`}},
		"NaN":                    {400, "", call{method: put, path: device, body: `{"apiPort":NaN}`}},
		"byte order mark":        {400, "", call{method: put, path: device, body: "\ufeff{}"}},
		"too deep":               {400, "", call{method: put, path: device, body: strings.Repeat("[", 100_000)}},

		// Wrong types.
		"list for object":      {400, "", call{method: put, path: device, body: `[]`}},
		"text for object":      {400, "", call{method: put, path: device, body: `"x"`}},
		"null for object":      {400, "", call{method: put, path: device, body: `null`}},
		"number for object":    {400, "", call{method: put, path: device, body: `7`}},
		"port as text":         {400, "apiPort", call{method: put, path: device, body: `{"apiPort":"8384"}`}},
		"port with a fraction": {400, "apiPort", call{method: put, path: device, body: `{"apiPort":8384.5}`}},
		"port as truth":        {400, "apiPort", call{method: put, path: device, body: `{"apiPort":true}`}},
		"label as number":      {400, "label", call{method: put, path: device, body: `{"label":1}`}},
		"label as list":        {400, "label", call{method: put, path: device, body: `{"label":["x"]}`}},
		"key as object":        {400, "apiKey", call{method: put, path: device, body: `{"apiKey":{}}`}},
		"device ID as number":  {400, "deviceID", call{method: put, path: device, body: `{"deviceID":1}`}},
		"address as truth":     {400, "apiAddress", call{method: put, path: device, body: `{"apiAddress":false}`}},
		"priority as text": {400, "priority", call{method: post, path: templates,
			body: `{"op":"set","key":"","template":"{}","priority":"1"}`}},
		"priority with a fraction": {400, "priority", call{method: post, path: templates,
			body: `{"op":"set","key":"","template":"{}","priority":1.5}`}},
		"template as object": {400, "template", call{method: post, path: templates,
			body: `{"op":"set","key":"","template":{}}`}},
		"op as list": {400, "op", call{method: post, path: templates,
			body: `{"op":["set"],"key":"","template":"{}"}`}},
		"evaluate: text as number": {400, "template", call{method: post, path: evaluate, body: `{"template":1}`}},
		"allowPlain as text": {400, "allowPlain", call{method: put, path: device + "/settings",
			body: `{"allowPlain":"yes"}`}},
		"token name as number": {400, "name", call{method: post, path: Prefix + "/tokens",
			body: `{"name":1,"role":"viewer"}`}},
		"mode of the fleet as list": {400, "mode", call{method: put, path: Prefix + "/configurator", body: `{"mode":[]}`}},

		// Understood, not valid.
		"unknown field":         {422, "colour", call{method: put, path: device, body: `{"colour":"red"}`}},
		"field in another case": {422, "apikey", call{method: put, path: device, body: `{"apikey":"x"}`}},
		"unknown field of template": {422, "tags", call{method: post, path: templates,
			body: `{"op":"set","key":"","template":"{}","tags":[]}`}},
		"$schema":    {422, "$schema", call{method: put, path: device, body: `{"$schema":"x"}`}},
		"port 0":     {422, "apiPort", call{method: put, path: device, body: `{"apiPort":0}`}},
		"port 65536": {422, "apiPort", call{method: put, path: device, body: `{"apiPort":65536}`}},
		"port -1":    {422, "apiPort", call{method: put, path: device, body: `{"apiPort":-1}`}},
		"port beyond 64 bits": {422, "apiPort", call{method: put, path: device,
			body: `{"apiPort":99999999999999999999}`}},
		"label too long": {422, "label", call{method: put, path: device, body: `{"label":"` + long(4097) +
			`"}`}},
		"API key too long": {422, "apiKey", call{method: put, path: device, body: `{"apiKey":"` + long(1025) +
			`"}`}},
		"API key not ASCII":         {422, "apiKey", call{method: put, path: device, body: `{"apiKey":"schlüssel"}`}},
		"API key with a line break": {422, "apiKey", call{method: put, path: device, body: `{"apiKey":"a\nb"}`}},
		"create without key":        {422, "apiKey", call{method: put, path: devices + "/" + string(idB), body: `{}`}},
		"create with the masked key": {422, "apiKey", call{method: put, path: devices + "/" + string(idB),
			body: `{"apiKey":"<API_KEY>"}`}},
		"address with a scheme": {422, "apiAddress", call{method: put, path: device,
			body: `{"apiAddress":"https://host"}`}},
		"address with a port": {422, "apiAddress", call{method: put, path: device,
			body: `{"apiAddress":"host:8384"}`}},
		"address with a path": {422, "apiAddress", call{method: put, path: device, body: `{"apiAddress":"host/x"}`}},
		"address unspecified": {422, "apiAddress", call{method: put, path: device, body: `{"apiAddress":"0.0.0.0"}`}},
		"address broadcast": {422, "apiAddress", call{method: put, path: device,
			body: `{"apiAddress":"255.255.255.255"}`}},
		"address unspecified, IPv6": {422, "apiAddress", call{method: put, path: device,
			body: `{"apiAddress":"::ffff:0.0.0.0"}`}},
		"address with a slip": {422, "apiAddress", call{method: put, path: device,
			body: `{"apiAddress":"192.168.1.256"}`}},
		"address cut off": {422, "apiAddress", call{method: put, path: device,
			body: `{"apiAddress":"192.168.1"}`}},
		"address with a space": {422, "apiAddress", call{method: put, path: device, body: `{"apiAddress":"a b"}`}},
		"another ID in the body": {422, "deviceID", call{method: put, path: device, body: `{"deviceID":"` + string(idB) +
			`"}`}},
		"no ID in the body":    {422, "deviceID", call{method: put, path: device, body: `{"deviceID":"x"}`}},
		"blank ID in the body": {422, "deviceID", call{method: put, path: device, body: `{"deviceID":""}`}},
		"mistyped ID": {422, "path.deviceID", call{method: get, path: devices + "/" + string(idA[:62]) +
			"3"}},
		"short ID":                  {422, "path.deviceID", call{method: put, path: devices + "/ABC", body: `{}`}},
		"ID of other letters":       {422, "path.deviceID", call{method: del, path: devices + "/%C3%A4"}},
		"template without anything": {422, "op", call{method: post, path: templates, body: `{}`}},
		"template without op":       {422, "op", call{method: post, path: templates, body: `{"key":"","template":"{}"}`}},
		"template without key": {422, "key", call{method: post, path: templates,
			body: `{"op":"set","template":"{}"}`}},
		"template without text": {422, "template", call{method: put, path: one, body: `{"op":"set","key":""}`}},
		"op null": {422, "op", call{method: post, path: templates,
			body: `{"op":null,"key":"","template":"{}"}`}},
		"unknown op": {422, "op", call{method: post, path: templates,
			body: `{"op":"replace","key":"","template":"{}"}`}},
		"key too long": {422, "key", call{method: post, path: templates, body: `{"op":"set","key":"` +
			long(1025) + `","template":"{}"}`}},
		"priority beyond 64 bits": {422, "priority", call{method: post, path: templates,
			body: `{"op":"set","key":"","template":"{}","priority":9223372036854775808}`}},
		"template ID no number":   {422, "path.templateID", call{method: get, path: templates + "/one"}},
		"template ID with a sign": {422, "path.templateID", call{method: get, path: templates + "/+1"}},
		"template ID with a zero": {422, "path.templateID", call{method: get, path: templates + "/01"}},
		"tag of 129 bytes":        {422, "path.tag", call{method: put, path: device + "/tags/" + long(129)}},
		"tag of 65 two-byte letters": {422, "path.tag", call{method: put, path: device + "/tags/" +
			strings.Repeat("%C3%A4", 65)}},
		"tag with a line break":    {422, "path.tag", call{method: put, path: device + "/tags/a%0Ab"}},
		"tag with a zero byte":     {422, "path.tag", call{method: put, path: one + "/tags/%00"}},
		"tag of a zero byte and /": {422, "path.tag", call{method: put, path: device + "/tags/%00%2F"}},
		"tag that is no UTF-8":     {422, "path.tag", call{method: put, path: device + "/tags/%FF"}},
		"folder that is no UTF-8":  {422, "path.folderID", call{method: get, path: Prefix + "/folders/%FF"}},
		"limit 0":                  {422, "query.limit", call{method: get, path: devices + "?limit=0"}},
		"limit -1":                 {422, "query.limit", call{method: get, path: devices + "?limit=-1"}},
		"limit no number":          {422, "query.limit", call{method: get, path: templates + "?limit=ten"}},
		"limit blank":              {422, "query.limit", call{method: get, path: Prefix + "/tags?limit="}},
		"limit huge": {422, "query.limit", call{method: get, path: Prefix +
			"/folders?limit=99999999999999999999"}},
		"after no cursor":          {422, "query.after", call{method: get, path: devices + "?after=x"}},
		"after no template cursor": {422, "query.after", call{method: get, path: templates + "?after=x"}},
		"after more than a cursor": {422, "query.after", call{method: get, path: templates + "?after=1.2x"}},
		"tag blank in the query":   {422, "query.tag", call{method: get, path: devices + "?tag="}},
		"q no UTF-8":               {422, "query.q", call{method: get, path: devices + "?q=%FF"}},
		"query badly encoded":      {422, "query", call{method: get, path: devices + "?q=%zz"}},
		"evaluate without text":    {422, "template", call{method: post, path: evaluate, body: `{"op":"set"}`}},
		"evaluate for no device ID": {422, "query.device", call{method: post, path: evaluate + "?device=x",
			body: `{"template":"{}"}`}},
		"unknown mode":         {422, "mode", call{method: put, path: device + "/settings", body: `{"mode":"off"}`}},
		"no mode of the fleet": {422, "mode", call{method: put, path: Prefix + "/configurator", body: `{}`}},
		"no pin":               {422, "pin", call{method: put, path: device + "/settings", body: `{"pin":"abc"}`}},
		"unknown role": {422, "role", call{method: post, path: Prefix + "/tokens",
			body: `{"name":"x","role":"root"}`}},
		"token without name": {422, "name", call{method: post, path: Prefix + "/tokens", body: `{"role":"viewer"}`}},
		"token with a blank name": {422, "name", call{method: post, path: Prefix + "/tokens",
			body: `{"name":"","role":"viewer"}`}},

		// Not there.
		"unknown device":         {404, "", call{method: get, path: devices + "/" + string(idC)}},
		"unknown device, tags":   {404, "", call{method: put, path: devices + "/" + string(idC) + "/tags/x"}},
		"unknown device, delete": {404, "", call{method: del, path: devices + "/" + string(idC)}},
		"unknown device, state":  {404, "", call{method: get, path: devices + "/" + string(idC) + "/state"}},
		"unknown device, settings": {404, "", call{method: put, path: devices + "/" + string(idC) + "/settings",
			body: `{}`}},
		"status before contact":  {404, "", call{method: get, path: device + "/status"}},
		"version before contact": {404, "", call{method: get, path: device + "/version"}},
		"config before contact":  {404, "", call{method: get, path: device + "/config"}},
		"plan before contact":    {404, "", call{method: get, path: device + "/plan"}},
		"unknown template":       {404, "", call{method: get, path: templates + "/99"}},
		"unknown template, put": {404, "", call{method: put, path: templates + "/99",
			body: `{"op":"set","key":"","template":"{}"}`}},
		"unknown template, delete": {404, "", call{method: del, path: templates + "/99"}},
		"unknown template, tag":    {404, "", call{method: put, path: templates + "/99/tags/x"}},
		"unknown template, run":    {404, "", call{method: get, path: templates + "/99/evaluate"}},
		"template beyond 64 bits":  {404, "", call{method: get, path: templates + "/99999999999999999999"}},
		"template 0":               {404, "", call{method: get, path: templates + "/0"}},
		"template -1":              {404, "", call{method: del, path: templates + "/-1"}},
		"evaluate for who is gone": {404, "", call{method: post, path: evaluate + "?device=" + string(idC),
			body: `{"template":"{}"}`}},
		"unknown tag, delete": {404, "", call{method: del, path: Prefix + "/tags/nobody"}},
		"unknown folder":      {404, "", call{method: get, path: Prefix + "/folders/nowhere"}},
		"unknown token":       {404, "", call{method: del, path: Prefix + "/tokens/nobody"}},
		"unknown path":        {404, "", call{method: get, path: Prefix + "/nothing"}},
		"unknown path, HEAD":  {404, "", call{method: head, path: Prefix + "/nothing"}},
		"unknown path, POST":  {404, "", call{method: post, path: "/nothing", body: `{}`}},
		"unknown path for browsers": {404, "", call{method: get, path: "/nothing",
			header: http.Header{"Accept": {"text/html"}}}},
		"root of the API":            {404, "", call{method: get, path: Prefix}},
		"trailing slash":             {404, "", call{method: get, path: devices + "/"}},
		"trailing slash at one":      {404, "", call{method: get, path: device + "/"}},
		"double slash":               {404, "", call{method: get, path: Prefix + "//devices"}},
		"dots":                       {404, "", call{method: get, path: Prefix + "/x/../devices"}},
		"dot":                        {404, "", call{method: get, path: Prefix + "/./devices"}},
		"dots at the end":            {404, "", call{method: get, path: devices + "/.."}},
		"other letter case":          {404, "", call{method: get, path: "/api/v1/Devices"}},
		"encoded slash as separator": {404, "", call{method: get, path: "/api%2Fv1/devices"}},
		"another version":            {404, "", call{method: get, path: "/api/v2/devices"}},
		"no tag":                     {404, "", call{method: put, path: device + "/tags/"}},

		// Wrong method.
		"POST devices":         {405, "", call{method: post, path: devices, body: `{}`}},
		"POST a device":        {405, "", call{method: post, path: device, body: `{}`}},
		"PATCH a device":       {405, "", call{method: http.MethodPatch, path: device, body: `{}`}},
		"DELETE devices":       {405, "", call{method: del, path: devices}},
		"PUT templates":        {405, "", call{method: put, path: templates, body: `{}`}},
		"GET evaluate":         {405, "", call{method: get, path: evaluate}},
		"PUT evaluate":         {405, "", call{method: put, path: evaluate, body: `{}`}},
		"DELETE evaluate":      {405, "", call{method: del, path: evaluate}},
		"POST stored evaluate": {405, "", call{method: post, path: one + "/evaluate"}},
		"PUT a folder":         {405, "", call{method: put, path: Prefix + "/folders/x", body: `{}`}},
		"GET a device's tag":   {405, "", call{method: get, path: device + "/tags/x"}},
		"HEAD a device's tag":  {405, "", call{method: head, path: device + "/tags/x"}},
		"POST a tag":           {405, "", call{method: post, path: Prefix + "/tags/x"}},
		"OPTIONS devices":      {405, "", call{method: http.MethodOptions, path: devices}},
		"made-up method":       {405, "", call{method: "BREW", path: devices}},
		"POST a lone slash":    {405, "", call{method: post, path: Prefix + "/tags/%2F"}},

		// Media types and sizes.
		"form": {415, "", call{method: put, path: device, body: `{}`,
			header: jsonType("application/x-www-form-urlencoded")}},
		"text": {415, "", call{method: put, path: device, body: `{}`, header: jsonType("text/plain")}},
		"XML": {415, "", call{method: post, path: templates, body: `<a/>`,
			header: jsonType("application/xml")}},
		"no media type": {415, "", call{method: post, path: templates, body: `{}`, header: jsonType(";;")}},
		"compressed": {415, "", call{method: put, path: device, body: `{}`,
			header: http.Header{"Content-Encoding": {"gzip"}}}},
		"body over 4 MiB": {413, "", call{method: put, path: device, body: `{"label":"` + long(4<<20) + `"}`}},
		"template over 1 MiB": {413, "template", call{method: post, path: templates,
			body: `{"op":"set","key":"","template":"` + long(1<<20+1) + `"}`}},
		"conflicting token": {409, "", call{method: post, path: Prefix + "/tokens",
			body: `{"name":"viewer","role":"viewer"}`}},
		"last administrator": {409, "", call{method: del, path: Prefix + "/tokens/admin"}},
		"ETag of another time": {412, "", call{method: put, path: device, body: `{}`,
			header: http.Header{"If-Match": {`"x"`}}}},
		"create what is there": {412, "", call{method: put, path: device, body: `{}`,
			header: http.Header{"If-None-Match": {"*"}}}},
		"replace what is not": {412, "", call{method: put, path: devices + "/" + string(idB), body: `{"apiKey":"k"}`,
			header: http.Header{"If-Match": {"*"}}}},
		"delete another version": {412, "", call{method: del, path: one, header: http.Header{"If-Match": {`"x"`}}}},

		// Who and where.
		"no token":               {401, "", call{method: get, path: devices, token: "-"}},
		"no token, unknown path": {401, "", call{method: get, path: "/nothing", token: "-"}},
		"no token, dots":         {401, "", call{method: get, path: Prefix + "/../x", token: "-"}},
		"no token, wrong method": {401, "", call{method: post, path: devices, token: "-"}},
		"no token, bad body":     {401, "", call{method: put, path: device, body: "x", token: "-"}},
		"wrong token":            {401, "", call{method: get, path: devices, token: "muster_wrong"}},
		"basic authentication": {401, "", call{method: get, path: devices, token: "-",
			header: http.Header{"Authorization": {"Basic YTpi"}}}},
		"bearer of nothing": {401, "", call{method: get, path: devices, token: "-",
			header: http.Header{"Authorization": {"Bearer "}}}},
		"viewer tags":         {403, "", call{method: put, path: device + "/tags/x", role: fleet.RoleViewer}},
		"operator's template": {403, "", call{method: post, path: templates, body: `{}`, role: fleet.RoleOperator}},
		"author's device":     {403, "", call{method: put, path: device, body: `{}`, role: fleet.RoleAuthor}},
		"author's tokens":     {403, "", call{method: get, path: Prefix + "/tokens", role: fleet.RoleAuthor}},
		"page of another site": {403, "", call{method: put, path: device, body: `{}`,
			header: http.Header{"Sec-Fetch-Site": {"cross-site"}}}},
		"origin of another site": {403, "", call{method: del, path: device,
			header: http.Header{"Origin": {"https://evil.example"}}}},
		"another host":        {421, "", call{method: get, path: devices, host: "evil.example"}},
		"another host's port": {421, "", call{method: get, path: "/healthz", host: "evil.example:2525"}},
		"another address":     {421, "", call{method: get, path: devices, host: "198.51.100.7:2525"}},
		"almost localhost":    {421, "", call{method: get, path: devices, host: "localhost.evil.example"}},
	}
	if len(rows) < 80 {
		t.Fatalf("%d rows are too few", len(rows))
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			p := w.in(t).problem(row.status, row.call)
			if p.Hint == hintOf[http.StatusNotFound] {
				t.Errorf("got the hint %q, want one that says which list", p.Hint)
			}
			if row.field == "" {
				return
			}
			for _, e := range p.Errors {
				if (e.Field == row.field || e.Location == row.field) && e.Message != "" {
					return
				}
			}
			t.Errorf("got errors %+v, want one that names %s", p.Errors, row.field)
		})
	}
	resp := w.do(call{method: put, path: device, body: `{"apiPort":0}`})
	if got, err := io.ReadAll(resp.Body); err != nil || strings.Contains(string(got), `"line"`) {
		t.Errorf("got %s, %v: what has no line names none", got, err)
	}
	if got := decoded(t, w.get(device))["updatedAt"]; got != known {
		t.Error("something of all that was written")
	}
	if got := w.get(Prefix + "/tags"); got != "[]" {
		t.Errorf("tags %s were written", got)
	}
}
