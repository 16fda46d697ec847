import { MantineProvider } from "@mantine/core";
import { Notifications } from "@mantine/notifications";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { Suspense } from "react";
import { Route, Router, Switch } from "wouter";
import { asProblem } from "./api/problem";
import { Frame } from "./Frame";
import { Live } from "./live/Live";
import { Device } from "./pages/Device";
import { Devices } from "./pages/Devices";
import { Waiting } from "./pages/Waiting";
import { Session } from "./session/Session";
import { nonce } from "./ui/nonce";
import { Ghosts, Nothing, Page } from "./ui/page";
import { To } from "./ui/text";
import { theme } from "./ui/theme";


const client = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      retry: (times, error) => times < 2 && asProblem(error).status >= 500,
    },
  },
});

const prefix = new URL(document.baseURI).pathname.replace(/\/$/, "");

export function App() {
  return (
    <MantineProvider theme={theme} defaultColorScheme="auto" getStyleNonce={() => nonce}>
      <QueryClientProvider client={client}>
        <Notifications position="bottom-right" />
        <Session>
          <Live>
            <Router base={prefix}>
              <Frame>
                <Suspense fallback={<Waits />}>
                  <Routes />
                </Suspense>
              </Frame>
            </Router>
          </Live>
        </Session>
      </QueryClientProvider>
    </MantineProvider>
  );
}

function Waits() {
  return (
    <main className="u-page">
      <Ghosts />
    </main>
  );
}

function Routes() {
  return (
    <Switch>
      <Route path="/" component={Waiting} />
      <Route path="/devices" component={Devices} />
      <Route path="/devices/:id/:tab?">{({ id, tab }) => <Device key={id} id={id} tab={tab ?? "overview"} />}</Route>
      <Route>
        <Page title="Nothing here">
          <Nothing title="There is no page at this address">
            <To href="/">Go to what waits</To>
          </Nothing>
        </Page>
      </Route>
    </Switch>
  );
}
