// Compiles a .ksy file and prints the fields of each packet as JSON: node read.js KSY WORKFOLDER PACKET...
// For a packet that the generated reader refuses, the text is the attribute it stopped at, and why.
const fs = require("fs");
const path = require("path");
const YAML = require("yaml");
const compiler = require("kaitai-struct-compiler");
const KaitaiStream = require("kaitai-struct/KaitaiStream");

function fieldsOf(struct, spec) {
  return Object.fromEntries(spec.seq.map(({ id }) => [id, struct[camel(id)]]));
}

function camel(id) {
  return id.replace(/_([a-z0-9])/g, (_, letter) => letter.toUpperCase());
}

async function main([ksy, folder, ...packets]) {
  const spec = YAML.parse(fs.readFileSync(ksy, "utf8"));
  const files = await compiler.compile("javascript", spec, null, true);
  // In debug mode a reader reads on request and notes each attribute that it begins.
  const [name, source] = Object.entries(files)[0];
  fs.writeFileSync(path.join(folder, name), source);
  const { TessbedPacket } = require(path.join(folder, name));
  const read = (file) => {
    const packet = new TessbedPacket(new KaitaiStream(fs.readFileSync(file)));
    try {
      packet._read();
      return fieldsOf(packet, spec);
    } catch (error) {
      return `${Object.keys(packet._debug).pop()}: ${error.message}`;
    }
  };
  console.log(JSON.stringify(packets.map(read)));
}

main(process.argv.slice(2)).catch((error) => {
  console.error(error);
  process.exit(1);
});
