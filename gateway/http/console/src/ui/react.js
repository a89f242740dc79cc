// React for the component library: Preact's, without `useInsertionEffect`, which Preact runs as a layout effect. Ariakit
// needs it to run before all of those, and without it assigns its event handlers while it renders.
export * from "preact/compat";
export { default } from "preact/compat";
export const useInsertionEffect = undefined;
