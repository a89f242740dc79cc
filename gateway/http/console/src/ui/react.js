// React for the component library: Preact's, without `useInsertionEffect`, which Preact runs as a layout effect. Ariakit
// needs it to run before all of those, and without it assigns its event handlers while it renders.
import { options } from "preact";

export * from "preact/compat";
export { default } from "preact/compat";
export const useInsertionEffect = undefined;

// Ariakit assigns `currentTarget` of events that it handles later, which React's events permit and a browser's do not.
const prepareEvent = options.event;
const { get: currentTargetOf } = Object.getOwnPropertyDescriptor(Event.prototype, "currentTarget");
options.event = (event) => {
  let assigned;
  Object.defineProperty(event, "currentTarget", {
    configurable: true,
    get: () => assigned ?? currentTargetOf.call(event),
    set: (element) => (assigned = element),
  });
  return prepareEvent ? prepareEvent(event) : event;
};
