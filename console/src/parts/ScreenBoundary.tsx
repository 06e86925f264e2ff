import { Component, type ReactNode } from "react";
import { ChunkMissing, ChunkUnreachable, forgetFailures } from "../loadChunk";
import { useWords } from "../words";
import { Notice } from "./Notice";

interface Props {
  /** The address; a change of it leaves the error behind. */
  address: string;
  children: ReactNode;
}

/** Shows an error of a screen in its place, so that the navigation stays usable. */
export class ScreenBoundary extends Component<Props, { error: Error | null }> {
  override state = { error: null };

  static getDerivedStateFromError(error: Error) {
    return { error };
  }

  override componentDidUpdate(before: Props) {
    if (before.address !== this.props.address && this.state.error !== null) this.tryAgain();
  }

  readonly tryAgain = () => {
    forgetFailures();
    this.setState({ error: null });
  };

  override render() {
    return this.state.error === null ? (
      this.props.children
    ) : (
      <ScreenError error={this.state.error} onRetry={this.tryAgain} />
    );
  }
}

function ScreenError({ error, onRetry }: { error: Error; onRetry: () => void }) {
  const t = useWords();
  if (error instanceof ChunkUnreachable) return <Notice text={t("error.unreachable")} onRetry={onRetry} />;
  const isOld = error instanceof ChunkMissing;
  const text = isOld ? t("error.newVersion") : t("error.screen", { message: error.message });
  return <Notice text={text} button={isOld ? t("error.reload") : undefined} onRetry={() => location.reload()} />;
}
