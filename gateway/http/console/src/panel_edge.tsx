// The edge between the catalog and the content, which moves with the mouse and with arrow keys.
import { panelWidth } from "./state";
import { strings } from "./strings";

const MIN = 160;
const MAX = 640;
const STEP = 16;

export function PanelEdge() {
  const width = panelWidth.value;
  const set = (next: number) => (panelWidth.value = Math.min(MAX, Math.max(MIN, Math.round(next))));
  const onKey = (event: KeyboardEvent) => {
    const steps: Record<string, number> = { ArrowLeft: width - STEP, ArrowRight: width + STEP, Home: MIN, End: MAX };
    const next = steps[event.key];
    if (next === undefined) return;
    event.preventDefault();
    set(next);
  };
  return (
    <div
      class="panel-edge"
      role="separator"
      aria-orientation="vertical"
      aria-label={strings.browser.width}
      aria-valuemin={MIN}
      aria-valuemax={MAX}
      aria-valuenow={width}
      tabIndex={0}
      onKeyDown={onKey}
      onPointerDown={(event) => {
        event.preventDefault();
        event.currentTarget.setPointerCapture(event.pointerId);
      }}
      onPointerMove={(event) => {
        if (!event.currentTarget.hasPointerCapture(event.pointerId)) return;
        const panel = event.currentTarget.parentElement as HTMLElement;
        set(event.clientX - panel.getBoundingClientRect().left);
      }}
    />
  );
}
