// Leads connections to port 443 of localhost to GATEWAY_PORT: the tests of @databricks/sql name no port.
const tls = require('tls');

const connect = tls.connect;
tls.connect = (...settings) => {
  if (typeof settings[0] === 'object' && Number(settings[0].port) === 443) {
    settings[0] = { ...settings[0], port: Number(process.env.GATEWAY_PORT) };
  }
  return connect(...settings);
};
