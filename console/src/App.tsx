import { QueryClientProvider } from "@tanstack/react-query";
import { Suspense, useEffect } from "react";
import { Redirect, Router, useLocation, useRoute } from "wouter";
import { useMe } from "./api/queries";
import { homeOf } from "./api/rights";
import { queryClient } from "./api/queryClient";
import { useAddress, useFragment } from "./location";
import { LiveProvider } from "./log/LiveProvider";
import { lazyPart } from "./loadChunk";
import { mark } from "./marks";
import { Notice } from "./parts/Notice";
import { ScreenBoundary } from "./parts/ScreenBoundary";
import { Shell } from "./parts/Shell";
import { Approvals } from "./screens/approvals/Approvals";
import { Chat } from "./screens/chat/Chat";
import { SettingsScreen } from "./screens/settings/SettingsScreen";
import { SIGN_IN } from "./screens/signin/returnAddress";
import { SignIn } from "./screens/signin/SignIn";
import { useWords } from "./words";

const Connect = lazyPart(() => import("./screens/connect/Connect"));
const Flows = lazyPart(() => import("./screens/flows/Flows"));
const FlowScreen = lazyPart(() => import("./screens/flows/FlowScreen"));
const Cases = lazyPart(() => import("./screens/cases/Cases"));
const Memories = lazyPart(() => import("./screens/memories/Memories"));
const Access = lazyPart(() => import("./screens/access/Access"));
const Health = lazyPart(() => import("./screens/health/Health"));
const MetricsScreen = lazyPart(() => import("./screens/metrics/MetricsScreen"));
const UsageScreen = lazyPart(() => import("./screens/usage/UsageScreen"));
const Workbench = lazyPart(() => import("./screens/plugins/Workbench"));
const Threads = lazyPart(() => import("./screens/threads/Threads"));
const Rerun = lazyPart(() => import("./screens/rerun/Rerun"));
const Runs = lazyPart(() => import("./screens/threads/Runs"));

export function App() {
  return (
    <QueryClientProvider client={queryClient}>
      <Router hook={useFragment}>
        <SignedIn />
      </Router>
    </QueryClientProvider>
  );
}

function SignedIn() {
  const t = useWords();
  const me = useMe();
  if (me.isPending) return null;
  if (me.isError) return <Notice text={t("error.unreachable")} onRetry={() => void me.refetch()} />;
  if (me.data === null) return <SignIn />;
  return (
    <LiveProvider>
      <Shell me={me.data}>
        <Screen />
      </Shell>
    </LiveProvider>
  );
}

function Screen() {
  const [location] = useLocation();
  return (
    <ScreenBoundary address={location}>
      <Suspense fallback={null}>
        <CurrentScreen />
        <ReadyMark />
      </Suspense>
    </ScreenBoundary>
  );
}

/** Inside of the boundary, so that a screen that is still loading is not ready. */
function ReadyMark() {
  const address = useAddress();
  useEffect(() => mark("ready"), [address]);
  return null;
}

function CurrentScreen() {
  const t = useWords();
  const me = useMe().data;
  const [location] = useLocation();
  const [isThread, thread] = useRoute("/threads/:id");
  const [isFlow, flow] = useRoute("/flows/:plugin/:name");
  const [isConnect, connect] = useRoute("/connect/:face?");
  const [isRerun, rerun] = useRoute("/runs/:id/again");
  if (location === "/" || location === SIGN_IN) return <Redirect to={homeOf(me)} replace />;
  if (isThread) return <Chat thread={thread.id} />;
  if (isRerun) return <Rerun key={rerun.id} run={rerun.id} />;
  if (isFlow) return <FlowScreen key={location} plugin={flow.plugin} name={flow.name} />;
  if (isConnect) return <Connect face={connect.face ?? null} />;
  if (/^\/plugins(\/|$)/.test(location)) return <Workbench {...readFileAddress(location)} />;
  switch (location) {
    case "/chat":
      return <Chat thread={null} />;
    case "/threads":
      return <Threads />;
    case "/runs":
      return <Runs />;
    case "/flows":
      return <Flows />;
    case "/approvals":
      return <Approvals />;
    case "/memories":
      return <Memories />;
    case "/cases":
      return <Cases />;
    case "/access":
      return <Access />;
    case "/health":
      return <Health />;
    case "/metrics":
      return <MetricsScreen />;
    case "/usage":
      return <UsageScreen />;
    case "/settings":
      return <SettingsScreen />;
    default:
      return <Notice text={t("error.notFound")} />;
  }
}

/** `/plugins/PLUGIN/PATH` */
function readFileAddress(address: string): { plugin: string | null; path: string | null } {
  const [plugin, ...path] = address.split("/").slice(2).map(decode);
  return { plugin: plugin || null, path: path.join("/") || null };
}

/** wouter has decoded most characters already, so that a `%` may be one of the name. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
