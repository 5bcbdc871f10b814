"""Watch a plant by MQTT: rows come on one topic, sensors to read and alarms go out on others.

    python examples/mqtt_watch.py plant.monitor --host 127.0.0.1 --port 1883 --topic plant

takes rows as JSON objects on plant/row, such as {"minute": 812, "feed_flow": 12.1}, and commands
on plant/command; publishes the sensors to read next on plant/next (kept by the broker, so that
whoever comes later knows them) and events on plant/alarm. Needs paho-mqtt.
"""

import argparse
import json
from typing import Any

import paho.mqtt.client as mqtt

from causaldq import CausalDQError, Monitor, Session


def main() -> None:
    """Connect and go on until interrupted."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("monitor")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=1883)
    parser.add_argument("--topic", default="plant")
    parser.add_argument("--time", default="minute")
    given = parser.parse_args()
    session = Session(Monitor.load(given.monitor))
    client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2)

    def publish(records: list[dict[str, Any]]) -> None:
        for record in records:
            if record["kind"] == "event":
                client.publish(f"{given.topic}/alarm", json.dumps(record), qos=1)
        client.publish(f"{given.topic}/next", json.dumps(session.next), qos=1, retain=True)

    def connected(_client: mqtt.Client, *_: Any) -> None:
        client.subscribe([(f"{given.topic}/row", 1), (f"{given.topic}/command", 1)])
        publish([])
        print("first:", *session.next, flush=True)

    def received(_client: mqtt.Client, _data: Any, message: mqtt.MQTTMessage) -> None:
        if message.topic.endswith("/command"):
            publish(session.command(message.payload.decode(errors="replace")))
            return
        try:
            row = json.loads(message.payload)
            values = {name: row.get(name) for name in session.next}
            publish(session.row(values, row.get(given.time)))
        except (AttributeError, ValueError, CausalDQError) as error:
            print(f"no row: {error}", flush=True)

    client.on_connect, client.on_message = connected, received
    client.connect(given.host, given.port)
    client.loop_forever()


if __name__ == "__main__":
    main()
