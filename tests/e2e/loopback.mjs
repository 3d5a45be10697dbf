// Preloaded into server-everything (node --import) to change three things about where and how long it runs:
// it listens on loopback only (by itself it takes every interface), it says which port the system gave it
// (with PORT=0 it would print "port 0"), and it ends when its stdin closes, so that it cannot outlive the harness.
import { Server } from "node:net";

const listen = Server.prototype.listen;
Server.prototype.listen = function (port, ...rest) {
  const callback = rest.find((argument) => typeof argument === "function");
  return listen.call(this, Number(port), "127.0.0.1", () => {
    callback?.call(this);
    console.error(`bound to port ${this.address().port}`);
  });
};

process.stdin.on("end", () => process.exit(0)).resume();
