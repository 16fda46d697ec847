import { Button } from "@mantine/core";
import { Component, type ReactNode } from "react";
import { explained } from "./explained";
import { Page, Wrong } from "./page";

interface Caught {
  failed: boolean;
  error: unknown;
}

/** Boundary keeps the frame where a page throws: it says what happened, and another page shows as always. */
export class Boundary extends Component<{ at: string; children: ReactNode }, Caught> {
  override state: Caught = { failed: false, error: undefined };

  static getDerivedStateFromError(error: unknown): Caught {
    return { failed: true, error };
  }

  override componentDidUpdate(before: { at: string }) {
    if (before.at !== this.props.at && this.state.failed) this.setState({ failed: false, error: undefined });
  }

  override render() {
    if (!this.state.failed) return this.props.children;
    return (
      <Page title="This page failed">
        <Wrong error={new Error(explained(this.state.error))} retry={() => this.setState({ failed: false, error: undefined })} />
        <div className="u-row">
          <Button onClick={() => location.reload()}>Load the console again</Button>
        </div>
      </Page>
    );
  }
}
