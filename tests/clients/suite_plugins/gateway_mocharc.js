// The suite's own configuration, with a report that is read, and an end although connections are open. The tests of the
// kernel are left out: it is native code, which only connects to port 443.
const own = require(`${process.cwd()}/tests/e2e/.mocharc.js`);

module.exports = {
  ...own,
  exit: true,
  ignore: ['tests/e2e/kernel/**'],
  reporter: 'json',
  'reporter-option': [`output=${process.env.GATEWAY_OUTCOMES}`],
  timeout: '60000',
};
